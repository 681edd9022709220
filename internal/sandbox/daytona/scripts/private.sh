# Restricts a folder of omoi to its owner.
chmod 700 "$1" && chmod 600 "$1"/*
