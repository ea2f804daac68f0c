// A PostgreSQL server that answers a query with any values of any type, or with any bytes at all: a query, a setting or a
// connection.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/files.h"
#include "data/postgres.h"
#include "data/sql.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

namespace {

constexpr int kColumns = 4;
constexpr unsigned kTypes[] = {16, 17, 20, 21, 23, 25, 700, 701, 1700, 0};

void put16(std::string& to, uint16_t value) {
  to += static_cast<char>(value >> 8);
  to += static_cast<char>(value);
}
void put32(std::string& to, uint32_t value) {
  put16(to, static_cast<uint16_t>(value >> 16));
  put16(to, static_cast<uint16_t>(value));
}
std::string message(char type, const std::string& body) {
  std::string whole(1, type);
  put32(whole, static_cast<uint32_t>(body.size() + 4));
  return whole + body;
}
const std::string& ready() {
  static const std::string message_of_idle = message('Z', "I");
  return message_of_idle;
}

// One row: for each column a type, a length (255: NULL) and the bytes of the value.
std::string row_of(Bytes input) {
  std::string columns, values;
  put16(columns, kColumns);
  put16(values, kColumns);
  for (int i = 0; i < kColumns; ++i) {
    columns += std::string("c\0\0\0\0\0\0\0", 8);
    put32(columns, kTypes[take_choice(input, std::size(kTypes))]);
    columns += std::string("\xff\xff\xff\xff\xff\xff\0\0", 8);
    const int size = take_choice(input, 256);
    if (size == 255) {
      put32(values, 0xffffffff);
      continue;
    }
    const Bytes value = input.first(std::min<size_t>(size, input.size()));
    input = input.subspan(value.size());
    put32(values, static_cast<uint32_t>(value.size()));
    values += text_of(value);
  }
  return message('1', "") + message('2', "") + message('T', columns) + message('D', values) +
         message('C', std::string("SELECT 1\0", 9)) + ready();
}

// Where the server answers with the reply: to a query, after which it goes on or ends the connection, to the first setting or
// to the connection.
enum class Stage { Row, Query, Setting, Connection };

// One thread answers one connection after the other, and everything but the stage as a server does.
class FakeServer {
 public:
  FakeServer() : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    const std::string path = (folder_.path() / ".s.PGSQL.5432").string();
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::listen(listener_, 8);
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeServer() {
    ::shutdown(listener_, SHUT_RDWR);  // ends the wait for a connection
    thread_.join();
    ::close(listener_);
  }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;
  std::string url() const {
    return "postgresql:///d?user=u&sslmode=disable&gssencmode=disable&host=" + folder_.path().string();
  }
  void answer_with(std::string reply, Stage stage) {
    const std::lock_guard lock(mutex_);
    reply_ = std::move(reply);
    stage_ = stage;
  }

 private:
  static bool read_all(int fd, void* data, size_t size) {
    return size == 0 || ::recv(fd, data, size, MSG_WAITALL) == static_cast<ssize_t>(size);
  }
  static bool send_all(int fd, const std::string& bytes) {
    return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  // The rest of a message behind its length.
  static bool skip(int fd) {
    uint32_t length = 0;
    if (!read_all(fd, &length, sizeof length)) return false;
    std::string body(std::min<uint32_t>(ntohl(length) - 4, 1 << 20), '\0');
    return read_all(fd, body.data(), body.size());
  }
  void serve() {
    for (;;) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      {
        const std::lock_guard lock(mutex_);
        if (skip(fd)) greet(fd);
      }
      ::close(fd);
    }
  }
  void greet(int fd) const {
    if (stage_ == Stage::Connection)
      send_all(fd, reply_);
    else if (send_all(fd, message('R', std::string(4, '\0')) + ready()))
      converse(fd);
  }
  void converse(int fd) const {
    for (char type = 0; read_all(fd, &type, 1) && type != 'X' && skip(fd);) {
      if (type != 'Q' && type != 'S') continue;
      const bool setting = type == 'Q', chosen = setting == (stage_ == Stage::Setting);
      if (!send_all(fd, chosen ? reply_ : message('C', std::string("SET\0", 4)) + ready())) return;
      if (chosen && stage_ != Stage::Row) return;
    }
  }

  TempDir folder_{"fuzz"};
  int listener_;
  std::mutex mutex_;
  std::string reply_;
  Stage stage_ = Stage::Row;
  std::thread thread_;
};

// Whether a message says that it is longer than this: libpq makes room for what a server says, which is its own matter.
bool says_too_much(Bytes reply) {
  constexpr uint32_t kMost = 1 << 20;
  while (reply.size() > sizeof(uint32_t)) {
    uint32_t length = 0;
    std::memcpy(&length, reply.data() + 1, sizeof length);
    length = ntohl(length);
    if (length > kMost) return true;
    reply = reply.subspan(std::min<size_t>(reply.size(), size_t{1} + std::max(length, 4U)));
  }
  return false;
}

}  // namespace

void postgres_replies(Bytes input) {
  static FakeServer server;
  const auto stage = static_cast<Stage>(take_choice(input, 4));
  if (stage != Stage::Row && says_too_much(input)) return;
  server.answer_with(stage == Stage::Row ? row_of(input) : text_of(input), stage);
  expect_errors([&] {
    const auto sql = open_postgres(server.url(), false, /*busy_timeout_ms=*/0);
    Statement statement(*sql, "SELECT");
    while (statement.step())
      for (int c = 0; c < kColumns + 1; ++c) {
        std::string text;
        double real = 0;
        int64_t integer = 0;
        int small = 0;
        bool flag = false;
        statement.column(c, text);
        statement.column(c, real);
        statement.column(c, integer);
        statement.column(c, small);
        statement.column(c, flag);
      }
  });
}

}  // namespace hone::fuzz
