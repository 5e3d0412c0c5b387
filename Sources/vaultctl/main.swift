internal import VaultCLI

Program.main()
