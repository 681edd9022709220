package workspace

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
)

// head is what a bundle says of itself.
type head struct {
	format string // of its ids: sha1 or sha256
	cuts   string // the commits at which its history is cut, a line each
}

// headOf reads the head of a bundle. What is wrong with one that has nothing else git says.
func headOf(bundle string) (head, error) {
	f, err := os.Open(bundle)
	if err != nil {
		return head{}, fmt.Errorf("open the repository's bundle: %w", err)
	}
	defer f.Close() //nolint:errcheck // read only
	var h head
	for text := bufio.NewReader(f); ; {
		line, err := text.ReadString('\n')
		if line == "\n" || errors.Is(err, io.EOF) {
			h.format = cmp.Or(h.format, "sha1")
			return h, nil
		}
		if err != nil {
			return head{}, fmt.Errorf("read the repository's bundle: %w", err)
		}
		h.add(strings.TrimSuffix(line, "\n"))
	}
}

func (h *head) add(line string) {
	if format, ok := strings.CutPrefix(line, "@object-format="); ok {
		h.format = format
	}
	if commit, ref, _ := strings.Cut(line, " "); strings.HasPrefix(ref, agentconfig.CutRefs) {
		h.cuts += commit + "\n"
	}
}

// cut tells a new repository at which commits its history is cut, so that git misses nothing in front of them.
func (h *head) cut(repository string) error {
	if h.cuts == "" {
		return nil
	}
	if err := os.WriteFile(filepath.Join(repository, "shallow"), []byte(h.cuts), 0o644); err != nil { //nolint:gosec // as git writes it
		return fmt.Errorf("note where the history is cut: %w", err)
	}
	return nil
}
