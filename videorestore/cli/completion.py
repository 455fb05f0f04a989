"""Completion scripts for shells, made from the parsers, so that they never lag behind."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from videorestore.cli.arguments import Folder, Name
from videorestore.cli.parser import build
from videorestore.cli.verbs import TABLE
from videorestore.verbs import VERBS

GLOBAL = (
    ("--help", "help, or the help of a verb"),
    ("--version", "the version"),
    ("--completion", "print a completion script"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Option:
    names: tuple[str, ...]
    meaning: str
    takes_value: bool
    words: tuple[str, ...] = ()
    files: bool = False
    folders: bool = False


def script(shell: str) -> str:
    """The completion script for ``bash``, ``zsh`` or ``fish``."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def _options(verb: str) -> list[_Option]:
    return [_option(action) for action in build(verb)._actions if action.option_strings]


def _option(action: argparse.Action) -> _Option:
    kind = action.type
    words = getattr(kind, "words", ())
    meaning = (action.help or "").partition(";")[0].partition(":")[0]
    return _Option(
        names=tuple(action.option_strings),
        meaning=meaning.replace("'", "").replace("[", "(").replace("]", ")"),
        takes_value=action.nargs is None,
        words=tuple(words) if words else ("auto",) if "auto" in str(action.metavar) else (),
        files=kind is Name,
        folders=kind is Folder,
    )


def _verbs() -> tuple[str, ...]:
    return tuple(verb for verb in VERBS if verb in TABLE)


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
        f"        COMPREPLY=({_words(*_verbs(), *(name for name, _ in GLOBAL))})",
        "        return",
        "    fi",
        '    case "$verb" in',
        f"        --completion) COMPREPLY=({_words('bash', 'zsh', 'fish')}) ;;",
    ]
    for verb in _verbs():
        lines += [f"        {verb})", '            case "$before" in']
        for option in _options(verb):
            if not option.takes_value:
                continue
            listed = f"COMPREPLY=({_words(*option.words)})"
            if option.folders:
                action = 'COMPREPLY=($(compgen -d -- "$word")); compopt -o filenames'
            elif option.files:
                also = f"{_words(*option.words)} " if option.words else ""
                action = f'COMPREPLY=({also}$(compgen -f -- "$word")); compopt -o filenames'
            else:
                action = listed if option.words else ":"
            lines.append(f"                {'|'.join(option.names)}) {action}; return ;;")
        every = _words(*(name for option in _options(verb) for name in option.names))
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
        *(f"        '{verb}:{_plain(TABLE[verb].summary)}'" for verb in _verbs()),
        *(f"        '{name}:{meaning}'" for name, meaning in GLOBAL),
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe 'verb' verbs",
        "        return",
        "    fi",
        "    case $words[2] in",
        "        --completion) _values 'shell' bash zsh fish ;;",
    ]
    for verb in _verbs():
        lines.append(f"        {verb})")
        lines.append("            _arguments -s \\")
        for option in _options(verb):
            value = ""
            if option.takes_value:
                if option.folders:
                    filling = "_files -/"
                elif option.files:
                    filling = "_files"
                else:
                    filling = f"({' '.join(option.words)})" if option.words else " "
                value = f":value:{filling}"
            others = f"({' '.join(option.names)})" if len(option.names) > 1 else ""
            for name in option.names:
                lines.append(f"                '{others}{name}[{option.meaning}]{value}' \\")
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
    for verb in _verbs():
        lines.append(
            f"complete -c videorestore -n __fish_use_subcommand -f -a {verb} -d '{_plain(TABLE[verb].summary)}'"
        )
    for name, meaning in GLOBAL:
        extra = " -x -a 'bash zsh fish'" if name == "--completion" else ""
        lines.append(f"complete -c videorestore -n __fish_use_subcommand -l {name[2:]} -d '{meaning}'{extra}")
    for verb in _verbs():
        for option in _options(verb):
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
            )
            value = ""
            if option.takes_value:
                value = " -r" if option.files or option.folders else " -x"
                value += f" -a '{' '.join(option.words)}'" if option.words else ""
            lines.append(
                f"complete -c videorestore -n '__fish_seen_subcommand_from {verb}' {names} -d '{option.meaning}'{value}"
            )
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return text.replace("'", "").replace(":", ",")
