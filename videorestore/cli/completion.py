"""Completion scripts for shells, made from the parsers, so that they never lag behind."""

from __future__ import annotations

import argparse
from dataclasses import replace

from videorestore.cli.arguments import add_options
from videorestore.request import TABLE, VERBS
from videorestore.request.declare import Option
from videorestore.request.kinds import File, Flag, Times

GLOBAL = (
    ("--help", "help, or the help of a verb"),
    ("--version", "the version"),
    ("--completion", "print a completion script"),
)
HELP = Option(kind=Flag(), help="this text", flags=("-h", "--help"))


def script(shell: str) -> str:
    """The completion script for ``bash``, ``zsh`` or ``fish``."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def _options(verb: str) -> list[Option]:
    known = add_options(argparse.ArgumentParser(add_help=False), TABLE[verb])
    opposites = [
        replace(option, flags=(option.kind.opposite,))
        for option in known.values()
        if isinstance(option.kind, Flag) and option.kind.opposite
    ]
    return [HELP, *(option for option in known.values() if option.flags), *opposites]


def _takes_value(option: Option) -> bool:
    return not isinstance(option.kind, (Flag, Times))


def _meaning(option: Option) -> str:
    text = option.help.partition(";")[0].partition(":")[0]
    return text.replace("'", "").replace("[", "(").replace("]", ")")


def _folder(option: Option) -> bool:
    return isinstance(option.kind, File) and option.kind.folder


def _bash() -> str:
    lines = [
        "# bash completion: put this line into ~/.bashrc:",
        '#   eval "$(videorestore --completion bash)"',
        "_videorestore() {",
        '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" verb="${COMP_WORDS[1]}"',
        "    COMPREPLY=()",
        "    # Names may hold spaces.",
        "    local IFS=$'\\n'",
        '    if [ "$COMP_CWORD" -eq 1 ]; then',
        f"        COMPREPLY=({_words(*VERBS, *(name for name, _ in GLOBAL))})",
        "        return",
        "    fi",
        '    case "$verb" in',
        f"        --completion) COMPREPLY=({_words('bash', 'zsh', 'fish')}) ;;",
    ]
    for verb in VERBS:
        lines += [f"        {verb})", '            case "$before" in']
        for option in _options(verb):
            if not _takes_value(option):
                continue
            listed = f"COMPREPLY=({_words(*option.kind.words)})"
            if _folder(option):
                action = 'COMPREPLY=($(compgen -d -- "$word")); compopt -o filenames'
            elif isinstance(option.kind, File):
                also = f"{_words(*option.kind.words)} " if option.kind.words else ""
                action = f'COMPREPLY=({also}$(compgen -f -- "$word")); compopt -o filenames'
            else:
                action = listed if option.kind.words else ":"
            lines.append(f"                {'|'.join(option.flags)}) {action}; return ;;")
        every = _words(*(name for option in _options(verb) for name in option.flags))
        lines += [
            "            esac",
            '            case "$word" in',
            f"                -*) COMPREPLY=({every}) ;;",
            '                *) COMPREPLY=($(compgen -f -- "$word")); compopt -o filenames ;;',
            "            esac ;;",
        ]
    lines += ["    esac", "}", "complete -F _videorestore videorestore"]
    return "\n".join(lines) + "\n"


def _words(*words: str) -> str:
    """bash: those of the words that begin like the one under the cursor."""
    listed = "\\n".join(words)
    return f"$(compgen -W $'{listed}' -- \"$word\")"


def _zsh() -> str:
    lines = [
        "#compdef videorestore",
        "# zsh completion: save as _videorestore in a folder of $fpath, or put this line into ~/.zshrc:",
        '#   eval "$(videorestore --completion zsh)"',
        "_videorestore() {",
        "    local -a verbs",
        "    verbs=(",
        *(f"        '{verb}:{_plain(TABLE[verb].summary)}'" for verb in VERBS),
        *(f"        '{name}:{meaning}'" for name, meaning in GLOBAL),
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe 'verb' verbs",
        "        return",
        "    fi",
        "    case $words[2] in",
        "        --completion) _values 'shell' bash zsh fish ;;",
    ]
    for verb in VERBS:
        lines.append(f"        {verb})")
        lines.append("            _arguments -s \\")
        for option in _options(verb):
            value = ""
            if _takes_value(option):
                if _folder(option):
                    filling = "_files -/"
                elif isinstance(option.kind, File):
                    filling = "_files"
                else:
                    filling = f"({' '.join(option.kind.words)})" if option.kind.words else " "
                value = f":value:{filling}"
            others = f"({' '.join(option.flags)})" if len(option.flags) > 1 else ""
            for name in option.flags:
                lines.append(f"                '{others}{name}[{_meaning(option)}]{value}' \\")
        lines += ["                '1: :' '*:file:_files' ;;"]
    lines += [
        "    esac",
        "}",
        'if [ "$funcstack[1]" = "_videorestore" ]; then',
        '    _videorestore "$@"',
        "else",
    ]
    lines += ["    compdef _videorestore videorestore", "fi"]
    return "\n".join(lines) + "\n"


def _fish() -> str:
    lines = [
        "# fish completion: videorestore --completion fish > ~/.config/fish/completions/videorestore.fish",
    ]
    for verb in VERBS:
        lines.append(
            f"complete -c videorestore -n __fish_use_subcommand -f -a {verb} -d '{_plain(TABLE[verb].summary)}'"
        )
    for name, meaning in GLOBAL:
        extra = " -x -a 'bash zsh fish'" if name == "--completion" else ""
        lines.append(f"complete -c videorestore -n __fish_use_subcommand -l {name[2:]} -d '{meaning}'{extra}")
    for verb in VERBS:
        for option in _options(verb):
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.flags
            )
            value = ""
            if _takes_value(option):
                value = " -r" if isinstance(option.kind, File) or _folder(option) else " -x"
                value += f" -a '{' '.join(option.kind.words)}'" if option.kind.words else ""
            lines.append(
                f"complete -c videorestore -n '__fish_seen_subcommand_from {verb}' {names} -d '{_meaning(option)}'{value}"
            )
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return text.replace("'", "").replace(":", ",")
