package main_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	fence  = regexp.MustCompile("(?m)^ *```.*$")
	inline = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	link   = regexp.MustCompile(`(?:\]\(|src=")([^)"\s]+)[)"]`)
	title  = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// TestDocuments_ArePages holds each hand-written page to 200 lines and 1,500 words, the README to 150 lines, and every
// block of a page to a kind: sh blocks run in internal/e2e, json is sent in api, text is output.
func TestDocuments_ArePages(t *testing.T) {
	t.Parallel()
	for page, text := range handWritten(t) {
		most := 200
		if page == "README.md" {
			most = 150
		}
		require.LessOrEqual(t, bytes.Count(text, []byte("\n")), most, "%s: lines", page)
		require.LessOrEqual(t, len(bytes.Fields(text)), 1500, "%s: words", page)
		for i, mark := range fence.FindAllString(string(text), -1) {
			kind := strings.TrimSpace(strings.TrimLeft(mark, " `"))
			if i%2 == 0 {
				require.Contains(t, []string{"sh", "text", "json", "mermaid", "yaml", "go"}, kind, "%s: a block of kind %q", page, kind)
			}
		}
	}
}

// TestDocuments_LinksLeadSomewhere follows each relative link of every page to its file and heading.
func TestDocuments_LinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	records, err := filepath.Glob("../../docs/decisions/*.md")
	require.NoError(t, err)
	roots, err := filepath.Glob("../../*.md")
	require.NoError(t, err)
	for _, page := range slices.Concat(pages, records, roots) {
		for _, found := range link.FindAllStringSubmatch(inline.ReplaceAllString(read(t, page), ""), -1) {
			to, heading, _ := strings.Cut(found[1], "#")
			if strings.Contains(to, "://") {
				continue
			}
			path := page
			if to != "" {
				path = filepath.Join(filepath.Dir(page), to)
			}
			_, err := os.Stat(path)
			require.NoError(t, err, "%s links to %s", page, found[1])
			if heading != "" {
				require.Contains(t, headings(read(t, path)), heading, "%s links to %s", page, found[1])
			}
		}
	}
}

// headings returns the anchors that GitHub gives to a page's headings.
func headings(text string) []string {
	var anchors []string
	for _, found := range title.FindAllStringSubmatch(text, -1) {
		kept := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
				return r
			}
			return -1
		}, strings.ToLower(found[1]))
		anchors = append(anchors, kept)
	}
	return anchors
}

// handWritten returns README.md and the pages below docs that no program writes.
func handWritten(t *testing.T) map[string][]byte {
	t.Helper()
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	found := map[string][]byte{}
	for _, path := range append(pages, "../../README.md") {
		text := read(t, path)
		head := text[:min(400, len(text))]
		if !strings.Contains(head, "do not edit") {
			found[strings.TrimPrefix(path, "../../")] = []byte(text)
		}
	}
	require.Greater(t, len(found), 10)
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
