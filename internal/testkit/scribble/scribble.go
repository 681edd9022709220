// Package scribble gives tests a program that changes files in known steps, so that a copy of its workspace can be compared, byte by
// byte, with the states through which the workspace went.
package scribble

import (
	"crypto/sha1" //nolint:gosec // as Git does
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Program is shell code that changes files in a folder of its own, without end. The folder is w1, or the next number that is not
// taken. Each change is atomic, and every second one writes the time to the file clock and calls the shell function told with the
// number of the change. A caller defines told before.
const Program = `n=1; while [ -e w$n ]; do n=$((n+1)); done; d=w$n; mkdir $d; k=12
put() { printf "$2" > .git/scribble; chmod 644 .git/scribble; mv -f .git/scribble $d/$1; }
while :; do
	k=$((k+1)); m=$((k/2)); f=f$((m/7%3))
	case $((k%2*9+m%7)) in
	0) put $f "$k\n" ;;
	1) until git add $d/$f; do sleep 0.05; done ;;
	2) put $f "$k again\r\n" ;;
	3) chmod 755 $d/$f ;;
	4) ln -s to-$k .git/scribble; mv -fT .git/scribble $d/link ;;
	5) put gone "$k" ;;
	6) rm -f $d/gone ;;
	*) put clock "$k $(date +%s%N)"; told $k ;;
	esac
	sleep 0.05
done`

// begun is the number of the change before the first one.
const begun = 12

// state is the folder of [Program] after a number of changes. The time in the clock is left out.
type state struct {
	Listing

	k int
}

// next makes the next change.
func (s *state) next() {
	s.k++
	m := s.k / 2
	name := "f" + strconv.Itoa(m/7%3)
	if s.k%2 == 1 {
		s.Files["clock"] = strconv.Itoa(s.k)
		return
	}
	switch m % 7 {
	case 0:
		s.Files[name] = File(false, fmt.Sprintf("%d\n", s.k))
	case 1:
		s.Staged[name] = Staged(s.Files[name])
	case 2:
		s.Files[name] = File(false, fmt.Sprintf("%d again\r\n", s.k))
	case 3:
		s.Files[name] = "x" + s.Files[name][1:]
	case 4:
		s.Files["link"] = fmt.Sprintf("l to-%d", s.k)
	case 5:
		s.Files["gone"] = File(false, strconv.Itoa(s.k))
	case 6:
		delete(s.Files, "gone")
	}
}

// Moment is a state of a folder.
type Moment struct {
	Change int       // number of the newest change; 0: the program has not begun
	At     time.Time // by the clock of the folder
}

var clockForm = regexp.MustCompile(`^(\d+) (\d{10})(\d{9})$`)

// Clock reads the file clock.
func Clock(content string) (Moment, bool) {
	found := clockForm.FindStringSubmatch(content)
	if found == nil {
		return Moment{}, false
	}
	change, _ := strconv.Atoi(found[1])
	seconds, _ := strconv.ParseInt(found[2], 10, 64)
	nanoseconds, _ := strconv.ParseInt(found[3], 10, 64)
	return Moment{change, time.Unix(seconds, nanoseconds)}, true
}

// Moment returns the state of a folder that l lists; false: the folder was never in it. Unless staged is true, only the files count.
func (l Listing) Moment(staged bool) (Moment, bool) {
	if len(l.Files) == 0 {
		return Moment{}, len(l.Staged) == 0
	}
	content, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(l.Files["clock"], "- "))
	at, ok := Clock(string(content))
	if err != nil || !ok {
		return Moment{}, false
	}
	is := maps.Clone(l.Files)
	is["clock"] = strconv.Itoa(at.Change)
	s := &state{Listing: newListing(), k: begun}
	for s.k < at.Change {
		s.next()
	}
	for range 2 { // up to the clock, and one change more
		if maps.Equal(s.Files, is) && (!staged || maps.Equal(s.Staged, l.Staged)) {
			return Moment{s.k, at.At}, true
		}
		s.next()
	}
	return Moment{}, false
}

// File is a file in a [Listing].
func File(executable bool, content string) string {
	kind := "- "
	if executable {
		kind = "x "
	}
	return kind + base64.StdEncoding.EncodeToString([]byte(content))
}

// Staged is how Git stages a file of a [Listing].
func Staged(file string) string {
	content, _ := base64.StdEncoding.DecodeString(file[2:])
	id := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content)) //nolint:gosec // as Git does
	mode := "100644"
	if file[0] == 'x' {
		mode = "100755"
	}
	return mode + " " + hex.EncodeToString(id[:])
}
