# Removes one file.
rm -f "$1"
