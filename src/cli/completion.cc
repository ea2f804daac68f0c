// Scripts that let a shell complete the commands, options and values of hone.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/suggest.h"
#include "cli/command_tree.h"

namespace hone::cli {

namespace {

bool of_files(const std::string& value) { return value == "FILE"; }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return CLI::detail::find_and_replace(std::move(text), from, to);
}

// Inside single quotes of bash and zsh.
std::string quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

std::string first_sentence(const std::string& about) {
  const size_t end = std::min({about.find(": "), about.find(" ("), about.find("; "), about.size()});
  return about.substr(0, end);
}

// "hone tune"|"hone run", all commands but the program itself: a pattern of bash and zsh.
std::string any_command(const CommandInfo& root) {
  std::string pattern;
  for (const CommandInfo* command : flattened(root))
    if (command != &root) pattern += (pattern.empty() ? "\"" : "|\"") + command->name + "\"";
  return pattern;
}

std::vector<std::string> words_of(const CommandInfo& command) {
  std::vector<std::string> words;
  for (const CommandInfo& below : command.below) words.push_back(below.last_word());
  for (const OptionInfo& option : command.options)
    if (!option.positional) words.insert(words.end(), option.names.begin(), option.names.end());
  return words;
}

// ---- bash

std::string bash_value(const OptionInfo& option) {
  if (!option.words.empty() && option.list) return fmt::format("_hone_list \"{}\"", fmt::join(option.words, " "));
  std::string action;
  if (!option.words.empty()) action = fmt::format("_hone_words \"{}\"", fmt::join(option.words, " "));
  if (of_files(option.value)) action += (action.empty() ? "" : "; ") + std::string("_hone_files -f");
  if (option.value == "FOLDER") action += "_hone_files -d";
  return action.empty() ? ":" : action;
}

std::string bash_script(const CommandInfo& root) {
  std::string values, names;
  for (const CommandInfo* command : flattened(root)) {
    for (const OptionInfo& option : command->options) {
      if (option.value.empty()) continue;
      std::string pattern;
      for (const std::string& name : option.names)
        pattern += fmt::format("{}\"{}:{}\"", pattern.empty() ? "" : "|", command->name, name);
      values += fmt::format("    {}) {}; return ;;\n", pattern, bash_value(option));
    }
    names += fmt::format("    \"{}\") words=\"{}\" ;;\n", command->name, fmt::join(words_of(*command), " "));
  }
  static constexpr char kScript[] = R"(# bash completion of hone, made by `hone completion bash`.
_hone_add() {{ local word; while IFS= read -r word; do COMPREPLY+=("$word"); done; }}
_hone_words() {{ _hone_add < <(compgen -W "$1" -- "$current"); }}
_hone_files() {{ compopt -o filenames 2>/dev/null; _hone_add < <(compgen "$1" -- "$current"); }}
_hone_list() {{ _hone_add < <(compgen -P "${{current%"${{current##*,}}"}}" -W "$1" -- "${{current##*,}}"); compopt -o nospace 2>/dev/null; }}
_hone() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command=hone word words=
  if [[ $current == "=" ]]; then current=; elif [[ $previous == "=" ]]; then previous=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$command $word" in
      {}) command="$command $word" ;;
    esac
  done
  COMPREPLY=()
  case "$command:$previous" in
{}  esac
  case "$command" in
{}  esac
  _hone_words "$words"
  if [[ $current != -* ]]; then _hone_files -f; fi
}}
complete -F _hone hone
)";
  return fmt::format(kScript, any_command(root), values, names);
}

// ---- zsh

std::string zsh_text(const std::string& text) {
  return replaced(replaced(replaced(text, "\\", "\\\\"), "[", "\\["), "]", "\\]");
}

std::string zsh_value(const OptionInfo& option) {
  const std::string label = option.value.empty() ? option.names.front() : option.value;
  if (!option.words.empty() && option.list)
    return fmt::format(":{}:_values -s , {} {}", label, label, fmt::join(option.words, " "));
  if (!option.words.empty() && !of_files(option.value))
    return fmt::format(":{}:({})", label, fmt::join(option.words, " "));
  if (option.value == "FOLDER") return fmt::format(":{}:_files -/", label);
  return of_files(option.value) || option.positional ? fmt::format(":{}:_files", label) : fmt::format(":{}: ", label);
}

std::string zsh_option(const OptionInfo& option) {
  if (option.positional) return quoted((option.list ? "*" : "") + zsh_value(option));
  const std::string about = "[" + zsh_text(first_sentence(option.about)) + "]";
  const std::string rest = quoted(about + (option.value.empty() ? "" : zsh_value(option)));
  if (option.names.size() == 1) return option.names.front() + rest;
  return fmt::format("{}{{{}}}{}", quoted(fmt::format("({})", fmt::join(option.names, " "))),
                     fmt::join(option.names, ","), rest);
}

std::string zsh_script(const CommandInfo& root) {
  std::string cases;
  for (const CommandInfo* command : flattened(root)) {
    cases += fmt::format("    \"{}\")\n", command->name);
    if (!command->below.empty()) {
      cases += "      commands=(";
      for (const CommandInfo& below : command->below)
        cases += " " + quoted(below.last_word() + ":" + replaced(below.summary, ":", "\\:"));
      cases += " )\n      (( CURRENT == 2 )) && _describe command commands && return\n";
    }
    cases += "      _arguments -s";
    for (const OptionInfo& option : command->options) cases += " \\\n        " + zsh_option(option);
    cases += " ;;\n";
  }
  static constexpr char kScript[] = R"(#compdef hone
# zsh completion of hone, made by `hone completion zsh`.
_hone() {{
  local command=hone word
  local -a commands
  integer depth=1
  for word in ${{words[2,CURRENT-1]}}; do
    case "$command $word" in
      ({}) command="$command $word"; (( depth += 1 )) ;;
    esac
  done
  words=(hone "${{(@)words[depth+1,-1]}}")
  (( CURRENT -= depth - 1 ))
  case "$command" in
{}  esac
}}
if [[ $funcstack[1] == _hone ]]; then _hone "$@"; else compdef _hone hone; fi
)";
  return fmt::format(kScript, any_command(root), cases);
}

// ---- fish

std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fish_script(const CommandInfo& root) {
  std::string known, lines;
  for (const CommandInfo* command : flattened(root)) {
    if (command != &root) known += fmt::format(" '{}'", command->name);
    const std::string at = fmt::format("complete -c hone -n 'test (__hone_command) = \"{}\"'", command->name);
    for (const CommandInfo& below : command->below)
      lines += fmt::format("{} -f -a {} -d {}\n", at, below.last_word(), fish_quoted(below.summary));
    for (const OptionInfo& option : command->options) {
      if (option.positional) continue;
      lines += at;
      for (const std::string& name : option.names)
        lines += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (option.value == "FOLDER")
        lines += " -x -a '(__fish_complete_directories)'";
      else if (!option.value.empty())
        lines += of_files(option.value) ? " -r" : " -x";
      if (!option.words.empty()) lines += fmt::format(" -a '{}'", fmt::join(option.words, " "));
      lines += " -d " + fish_quoted(first_sentence(option.about)) + "\n";
    }
  }
  static constexpr char kScript[] = R"(# fish completion of hone, made by `hone completion fish`.
function __hone_command
  set -l command hone
  for word in (commandline -opc)[2..-1]
    if contains -- "$command $word"{}
      set command "$command $word"
    end
  end
  echo $command
end
{})";
  return fmt::format(kScript, known, lines);
}

}  // namespace

std::string completion_script(const CommandInfo& root, const std::string& shell) {
  if (shell == "bash") return bash_script(root);
  if (shell == "zsh") return zsh_script(root);
  if (shell == "fish") return fish_script(root);
  throw unknown_word("shell", shell, {"bash", "zsh", "fish"}, "SHELL");
}

}  // namespace hone::cli
