package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestContributing_NamesFilesThatExist checks each path in backticks of the contributors' pages.
func TestContributing_NamesFilesThatExist(t *testing.T) {
	t.Parallel()
	for page, least := range map[string]int{"CONTRIBUTING.md": 30, "docs/ARCHITECTURE.md": 5, "docs/INTERNALS.md": 3, "docs/TESTING.md": 10} {
		named := regexp.MustCompile("`([a-z][\\w./-]*/[\\w./-]*)`").FindAllStringSubmatch(read(t, "../../"+page), -1)
		require.Greater(t, len(named), least, page)
		for _, path := range named {
			if strings.HasPrefix(path[1], "bin/") { // built
				continue
			}
			_, err := os.Stat(filepath.Join("../..", path[1]))
			require.NoError(t, err, page)
		}
	}
}

// TestDocuments_NameTestsThatExist finds each test that a page names as a proof.
func TestDocuments_NameTestsThatExist(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "grep", "-hoE", "^func Test[A-Za-z0-9_]+", "--", "*_test.go").Output()
	require.NoError(t, err)
	exist, found := strings.Split(strings.TrimSpace(string(out)), "\n"), 0
	for page, text := range handWritten(t) {
		for _, name := range regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]+(_[A-Z]\\w+)?)`").FindAllStringSubmatch(string(text), -1) {
			if name[1] != "TestSubject_Condition" { // the form of names
				require.Contains(t, exist, "func "+name[1], page)
				found++
			}
		}
	}
	require.Greater(t, found, 20)
}

// TestDocuments_IndexListsEveryPage requires a link to each page below docs in its index.
func TestDocuments_IndexListsEveryPage(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	index := read(t, "../../docs/README.md")
	for _, path := range pages {
		if page := filepath.Base(path); page != "README.md" {
			require.Contains(t, index, "]("+page+")", page)
		}
	}
}
