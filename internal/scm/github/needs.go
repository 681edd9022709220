package github

import (
	"bufio"
	"io"
	"strings"

	"github.com/omoi-dev/omoi/internal/scm"
)

const (
	maxHeader = 64 << 10 // of a bundle, as far as it is looked at
	maxNeeds  = 50       // commits that a bundle may build on; omoi's own build on few
)

// needsOf answers the commits that a bundle says it builds on, and the bundle as it was.
func needsOf(bundle io.Reader) ([]string, io.Reader) {
	in := bufio.NewReaderSize(bundle, maxHeader)
	header, _ := in.Peek(maxHeader) // what cannot be read fails where it is used
	var needs []string
	for line := range strings.Lines(string(header)) {
		id, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if line == "\n" || len(needs) > maxNeeds {
			break
		}
		if id, ok := strings.CutPrefix(id, "-"); ok && scm.IsCommit(id) {
			needs = append(needs, id)
		}
	}
	if len(needs) > maxNeeds {
		needs = nil
	}
	return needs, in
}
