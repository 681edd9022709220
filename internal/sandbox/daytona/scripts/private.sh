# Closes a folder of ours to others.
chmod 700 "$1" && chmod 600 "$1"/*
