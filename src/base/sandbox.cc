#include "base/sandbox.h"

#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>

namespace hone {
namespace {

// Of newer kernels than Debian's headers are of (include/uapi/linux/landlock.h of Linux 6.12).
constexpr uint64_t kTruncate = uint64_t{1} << 14;  // from version 3 on
constexpr uint64_t kScopes = 3;                    // abstract sockets and signals, from version 6 on
constexpr int kTruncateVersion = 3, kReferVersion = 2, kScopeVersion = 6;
struct Ruleset {
  uint64_t files = 0, network = 0, scoped = 0;
};

constexpr uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kOfFiles =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;  // not of folders
constexpr uint64_t kWrite = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                            LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                            LANDLOCK_ACCESS_FS_REFER | kTruncate;
constexpr uint64_t kNever = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                            LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
constexpr const char* kSystem[] = {"/usr", "/lib", "/lib64", "/etc", "/proc", "/sys", "/dev"};

// System calls that make sockets, start or enter processes, or change the system.
constexpr uint32_t kRefused[] = {
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_io_uring_setup,
    SYS_execve,
    SYS_execveat,
    SYS_fork,
    SYS_vfork,
    SYS_kill,
    SYS_rt_sigqueueinfo,
    SYS_pidfd_open,
    SYS_pidfd_send_signal,
    SYS_pidfd_getfd,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_mount,
    SYS_umount2,
    SYS_move_mount,
    SYS_open_tree,
    SYS_fsopen,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_open_by_handle_at,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_sethostname,
    SYS_setdomainname,
};

int landlock_version() {
  const int64_t version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? static_cast<int>(version) : 0;
}

void allow(int ruleset, const std::string& path, uint64_t access) {
  const int fd = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return;
  struct stat info{};
  if (::fstat(fd, &info) == 0) {
    landlock_path_beneath_attr rule{};
    rule.allowed_access = S_ISDIR(info.st_mode) ? access : access & kOfFiles;
    rule.parent_fd = fd;
    ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  }
  ::close(fd);
}

// The folders of the program and of the libraries that it has loaded.
std::set<std::string> folders_of_code() {
  std::set<std::string> folders;
  std::error_code failed;
  folders.insert(std::filesystem::read_symlink("/proc/self/exe", failed).parent_path().string());
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        const std::filesystem::path path(info->dlpi_name);
        if (path.is_absolute()) static_cast<std::set<std::string>*>(out)->insert(path.parent_path().string());
        return 0;
      },
      &folders);
  folders.erase("");
  return folders;
}

// The version in force; 0 if none.
int restrict_files(const std::vector<std::string>& readable, const std::vector<std::string>& writable) {
  const int version = landlock_version();
  if (version == 0) return 0;
  uint64_t handled = kRead | kWrite | kNever;
  if (version < kTruncateVersion) handled &= ~kTruncate;
  if (version < kReferVersion) handled &= ~uint64_t{LANDLOCK_ACCESS_FS_REFER};
  const Ruleset rules{handled, 0, version >= kScopeVersion ? kScopes : 0};
  const size_t size = version >= kScopeVersion ? sizeof rules : sizeof rules.files;
  const int ruleset = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rules, size, 0));
  if (ruleset < 0) return 0;
  for (const char* path : kSystem) allow(ruleset, path, kRead & handled);
  for (const std::string& path : folders_of_code()) allow(ruleset, path, kRead & handled);
  for (const std::string& path : readable) allow(ruleset, path, kRead & handled);
  for (const std::string& path : writable) allow(ruleset, path, (kRead | kWrite) & handled);
  allow(ruleset, "/dev/null", kOfFiles & handled);
  const bool done = ::syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  ::close(ruleset);
  return done ? version : 0;
}

// A program of seccomp: system calls of another architecture and those of kRefused fail with EPERM; clone may start threads alone, and
// clone3, whose flags a filter cannot read, does not exist: the C library then takes clone.
bool restrict_calls() {
  constexpr uint32_t kX32Bit = 0x40000000;
  constexpr auto fail = [](int error) -> uint32_t { return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error); };
  const auto load = [](size_t offset) -> sock_filter {
    return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
  };
  const auto result = [](uint32_t value) -> sock_filter { return BPF_STMT(BPF_RET | BPF_K, value); };
  const auto skip_unless = [](uint16_t test, uint32_t value, uint8_t steps) -> sock_filter {
    return BPF_JUMP(static_cast<uint16_t>(BPF_JMP | test | BPF_K), value, 0, steps);
  };
  std::vector<sock_filter> program = {
      load(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
      result(fail(EPERM)),
      load(offsetof(seccomp_data, nr)),
      skip_unless(BPF_JGE, kX32Bit, 1),
      result(fail(EPERM)),
      skip_unless(BPF_JEQ, SYS_clone3, 1),
      result(fail(ENOSYS)),
  };
  for (const uint32_t call : kRefused) {
    program.push_back(skip_unless(BPF_JEQ, call, 1));
    program.push_back(result(fail(EPERM)));
  }
  program.insert(program.end(), {skip_unless(BPF_JEQ, SYS_clone, 3), load(offsetof(seccomp_data, args[0])),
                                 BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0), result(fail(EPERM)),
                                 result(SECCOMP_RET_ALLOW)});
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  // Without the flag kernels before 5.16 switch on a mitigation that makes all code slower.
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter) == 0;
}

}  // namespace

Sandbox sandbox_support() {
  const uint32_t action = SECCOMP_RET_ERRNO;
  return {landlock_version(), ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0};
}

Sandbox enter_sandbox(const std::vector<std::string>& readable, const std::vector<std::string>& writable) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return {};
  Sandbox sandbox;
  sandbox.landlock = restrict_files(readable, writable);
  sandbox.seccomp = restrict_calls();
  return sandbox;
}

}  // namespace hone
