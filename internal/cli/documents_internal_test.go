package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

var (
	// shownCommand matches omoi and its arguments in a code span, or at the start of a line of a code block.
	shownCommand = regexp.MustCompile("(?m)(?:`|^ *|&& |\\$\\()omoi ((?:[a-z][a-z-]*|--[a-z-]+)[^`\n|;&#)]*)")
	quoted       = regexp.MustCompile(`"[^"]*"|'[^']*'|<[^>]*>`)
	pageLink     = regexp.MustCompile(`\[([A-Z-]+\.md)\]\(([^)#]*)`)
	longFlag     = regexp.MustCompile(`(?:^|[\s\[])--([a-z][a-z-]*)`)
)

// TestDocuments_NameCommandsThatExist looks up every command that a page shows, with its flags.
func TestDocuments_NameCommandsThatExist(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	var out bytes.Buffer
	root, found := newRoot(testGlobals(&out)), 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, shown := range shownCommand.FindAllStringSubmatch(string(text), -1) {
			if strings.HasPrefix(shown[0], " ") || strings.HasPrefix(shown[0], "omoi") && !inBlock(text, shown[0]) {
				continue // prose
			}
			requireCommand(t, root, page, shown[1])
			found++
		}
	}
	require.Greater(t, found, 100)
}

// TestDocuments_LinksNameTheirPage compares the label of each link to a page with its target.
func TestDocuments_LinksNameTheirPage(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	found := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, link := range pageLink.FindAllStringSubmatch(string(text), -1) {
			require.Equal(t, link[1], filepath.Base(link[2]), "%s: %s", page, link[0])
			found++
		}
	}
	require.Greater(t, found, 50)
}

// inBlock reports whether a line with this beginning is inside a fenced code block.
func inBlock(text []byte, line string) bool {
	before, _, _ := bytes.Cut(text, []byte("\n"+line))
	return bytes.Count(before, []byte("\n```"))%2 == 1
}

func requireCommand(t *testing.T, root *cobra.Command, page, shown string) {
	t.Helper()
	plain := quoted.ReplaceAllString(shown, "x")
	words := strings.Fields(plain)
	cmd, rest, err := root.Find(words)
	require.NoError(t, err, "%s: omoi %s", page, shown)
	require.NotSame(t, root, cmd, "%s: omoi %s", page, shown)
	if cmd.HasSubCommands() && len(rest) > 0 && rest[0] != "x" {
		require.True(t, strings.HasPrefix(rest[0], "-"), "%s: omoi %s", page, shown)
	}
	plain, _, _ = strings.Cut(plain, " -- ")
	for _, flag := range longFlag.FindAllStringSubmatch(plain, -1) {
		known := cmd.Flags().Lookup(flag[1]) != nil || cmd.InheritedFlags().Lookup(flag[1]) != nil || flag[1] == "help"
		require.True(t, known, "%s: omoi %s: flag --%s", page, shown, flag[1])
	}
}
