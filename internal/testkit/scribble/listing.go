package scribble

import (
	"strings"
)

// Listing is what a workspace holds.
type Listing struct {
	Files  map[string]string // by path "- <base64>", "x <base64>" of an executable file, or "l <target>" of a link
	Staged map[string]string // by path "<mode> <ID>"
}

func newListing() Listing { return Listing{Files: map[string]string{}, Staged: map[string]string{}} }

// Title is the first line that [List] prints.
const Title = "files of the workspace"

// List is shell code that prints the [Listing] of the current folder.
const List = `echo '` + Title + `'; git ls-files --stage | while read -r mode id stage path; do echo "i $path $mode $id"; done
find . -path ./.git -prune -o '(' -type f -o -type l ')' -print | while read -r f; do
if [ -L "$f" ]; then echo "l $f $(readlink "$f")"; else m=-; [ ! -x "$f" ] || m=x; echo "$m $f $(base64 -w0 "$f")"; fi; done`

// Parse reads what [List] printed.
func Parse(text string) Listing {
	l := newListing()
	for line := range strings.Lines(text) {
		kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		path, value, ok := strings.Cut(rest, " ")
		switch path = strings.TrimPrefix(path, "./"); {
		case ok && kind == "i":
			l.Staged[path] = value
		case ok && (kind == "-" || kind == "x" || kind == "l"):
			l.Files[path] = kind + " " + value
		}
	}
	return l
}

// In returns the part of a listing in a folder, and the rest.
func (l Listing) In(dir string) (in, out Listing) {
	in, out = newListing(), newListing()
	split := func(all, in, out map[string]string) {
		for path, is := range all {
			if name, ok := strings.CutPrefix(path, dir+"/"); ok {
				in[name] = is
			} else {
				out[path] = is
			}
		}
	}
	split(l.Files, in.Files, out.Files)
	split(l.Staged, in.Staged, out.Staged)
	return in, out
}
