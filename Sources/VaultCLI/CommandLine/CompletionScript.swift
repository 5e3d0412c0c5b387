/// The completion scripts of three shells.
///
/// Each asks `vaultctl __complete`, which is internal: it prints one candidate per line, or `:file` or `:folder` to let
/// the shell complete names of its own.
enum CompletionScript: String, CaseIterable, Sendable {
    case bash, zsh, fish

    /// The script's text.
    var text: String {
        switch self {
        case .bash: Self.bashText
        case .zsh: Self.zshText
        case .fish: Self.fishText
        }
    }

    private static let bashText = """
        # bash completion for vaultctl; load with: source <(vaultctl completion bash)
        _vaultctl() {
            local cur=${COMP_WORDS[COMP_CWORD]} line
            [[ $cur == "=" ]] && cur=""
            COMPREPLY=()
            while IFS= read -r line; do
                case $line in
                :file)
                    compopt -o filenames 2>/dev/null
                    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
                    ;;
                :folder)
                    compopt -o filenames 2>/dev/null
                    mapfile -t COMPREPLY < <(compgen -d -- "$cur")
                    ;;
                *)
                    line=${line%%$'\\t'*}
                    [[ $line == */ ]] && compopt -o nospace 2>/dev/null
                    printf -v line %q "$line"
                    COMPREPLY+=("$line")
                    ;;
                esac
            done < <(vaultctl __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
        }
        complete -F _vaultctl vaultctl
        """

    private static let zshText = """
        #compdef vaultctl
        # zsh completion for vaultctl; install as _vaultctl in a folder of $fpath
        _vaultctl() {
            local line
            local -a found folders
            for line in "${(@f)$(vaultctl __complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
                case $line in
                '') ;;
                :file) _files ;;
                :folder) _files -/ ;;
                */) folders+=("$line") ;;
                *$'\t'*) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
                *) found+=("${line//:/\\:}") ;;
                esac
            done
            (( $#folders )) && compadd -S '' -- "${folders[@]}"
            (( $#found )) && _describe 'vaultctl' found
            return 0
        }
        if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
            _vaultctl "$@"
        else
            compdef _vaultctl vaultctl
        fi
        """

    private static let fishText = """
        # fish completion for vaultctl; install as ~/.config/fish/completions/vaultctl.fish
        function __vaultctl_complete
            set -l words (commandline -opc) (commandline -ct)
            for line in (vaultctl __complete -- $words[2..-1] 2>/dev/null)
                switch $line
                    case :file
                        __fish_complete_path (commandline -ct)
                    case :folder
                        __fish_complete_directories (commandline -ct)
                    case '*'
                        echo $line
                end
            end
        end
        complete -c vaultctl -f -a '(__vaultctl_complete)'
        """
}
