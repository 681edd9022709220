package workspace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/spec"
)

// cut tells a new repository at which commits the history of the bundle is cut, so that git misses nothing in front of them.
func cut(repository, bundle string) error {
	commits, err := cuts(bundle)
	if err != nil || commits == "" {
		return err
	}
	if err := os.WriteFile(filepath.Join(repository, "shallow"), []byte(commits), 0o644); err != nil { //nolint:gosec // as git writes it
		return fmt.Errorf("note where the history is cut: %w", err)
	}
	return nil
}

// cuts reads from the head of a bundle the commits that it names as those, a line each.
func cuts(bundle string) (string, error) {
	f, err := os.Open(bundle)
	if err != nil {
		return "", fmt.Errorf("open the repository's bundle: %w", err)
	}
	defer f.Close() //nolint:errcheck // read only
	var commits strings.Builder
	for head := bufio.NewReader(f); ; {
		line, err := head.ReadString('\n')
		if line == "\n" || errors.Is(err, io.EOF) { // git says what is wrong with one that has a head only
			return commits.String(), nil
		}
		if err != nil {
			return "", fmt.Errorf("read the repository's bundle: %w", err)
		}
		if commit, ref, _ := strings.Cut(line, " "); strings.HasPrefix(ref, spec.CutRefs) {
			commits.WriteString(commit + "\n")
		}
	}
}
