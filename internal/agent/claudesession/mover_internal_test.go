package claudesession

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFolderOf_NamesFoldersAsTheProgramDoes compares with names from the function in Claude Code 2.1.197 and 2.1.328,
// run by Node.js.
func TestFolderOf_NamesFoldersAsTheProgramDoes(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/a/b_c.d/é":                                "-a-b-c-d--",
		"/" + strings.Repeat("a/", 99) + "x":        strings.Repeat("-a", 99) + "-x",
		"/" + strings.Repeat("a/", 100):             strings.Repeat("-a", 100) + "-f6id5z",
		"/w/é😀/" + strings.Repeat("long.name/", 30): ("-w----" + strings.Repeat("-long-name", 30))[:200] + "-m5wzwm",
		"/" + strings.Repeat("Z9", 150):             ("-" + strings.Repeat("Z9", 150))[:200] + "-uxbvyx",
	} {
		require.Equal(t, want, folderOf(path))
	}
}

func TestReplacePath_ReplacesWholeComponents(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/w/a":                          "/new",
		"/w/a/b.go:12":                  "/new/b.go:12",
		"see /w/a.":                     "see /new.",
		"in /w/a... and (/w/a), \n/w/a": "in /new... and (/new), \n/new",
		"file:///w/a/b":                 "file:///new/b",
		"PATH=/w/a/bin:/w/a":            "PATH=/new/bin:/new",
		"/w/ab /w/a-b /w/a.b /w/a_b/c":  "/w/ab /w/a-b /w/a.b /w/a_b/c",
		"/w/a./b /w/aé":                 "/w/a./b /w/aé",
		"/x/w/a ../w/a ~/w/a":           "/x/w/a ../w/a ~/w/a",
		"/w/a/w/a":                      "/new/w/a",
		"{\"file_path\":\"/w/a/b\"}":    "{\"file_path\":\"/new/b\"}",
		"/w":                            "/w",
	} {
		require.Equal(t, want, replacePath(text, "/w/a", "/new"), text)
	}
}
