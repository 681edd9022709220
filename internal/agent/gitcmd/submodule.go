package gitcmd

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// links are the submodules, where their files are to be taken up too: git itself does not look into them.
func (s *Shadow) links(ctx context.Context) (map[string]bool, error) {
	if !s.caps.Inner {
		return nil, nil //nolint:nilnil // nobody asks for them
	}
	var all bytes.Buffer
	if err := s.git.Stream(ctx, nil, &all, "ls-files", "-z", "--stage"); err != nil {
		return nil, err
	}
	links := map[string]bool{}
	for entry := range bytes.SplitSeq(all.Bytes(), []byte{0}) {
		if kind, path, ok := strings.Cut(string(entry), "\t"); ok && strings.HasPrefix(kind, "160000 ") {
			links[path] = true
		}
	}
	return links, nil
}

// filled answers the folder of a submodule that holds files without being a repository.
func (s *Shadow) filled(path string) []string {
	entries, err := os.ReadDir(filepath.Join(s.work, path))
	if err != nil || len(entries) == 0 || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".git" }) {
		return nil
	}
	return []string{path}
}

func (s *Shadow) isDir(path string) bool {
	info, err := os.Lstat(filepath.Join(s.work, path))
	return err == nil && info.IsDir()
}
