// Keys, ids and paths stand in almost every signature of this library, so its users get them with it.
@_exported public import VaultFormat
