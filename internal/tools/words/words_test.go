// Package words_test checks texts: banned words of CONTRIBUTING.md do not come back.
package words_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write allowed.txt: each folder may hold as many banned words as it holds now")

// banned are words and phrases that are archaic, poetic, or have a standard term in their place (CONTRIBUTING.md, "Words").
var banned = regexp.MustCompile(`(?i)\b(?:` + strings.Join([]string{
	`alarms?`, `anew`, `are told`, `at work`, `beats?`, `becomes of`, `besides`, `goes on`, `has its turn`, `hence`,
	`in the words of`, `is told`, `ladder`, `let in`, `likewise`, `mend(?:s|ed|ing)?`, `nothing but`, `once more`, `parked`,
	`rung`, `seldom`, `somebody`, `spoken`, `stand-?ins?`, `stands in`, `taken up`, `twins?`, `visitors?`, `walls`,
	`whence`, `whoever`, `whom`,
}, "|") + `)\b`)

// TestWords_NoFolderHoldsMoreBannedWords counts banned words in comments and strings of Go and in Markdown, by folder. No
// folder may hold more than allowed.txt says; a folder that it does not name holds none.
func TestWords_NoFolderHoldsMoreBannedWords(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", ".."))
	found := map[string][]string{}
	for _, path := range files(t) {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		found[folder(path)] = append(found[folder(path)], bannedIn(path, content)...)
	}
	if *update {
		require.NoError(t, os.WriteFile(allowedFile, format(found), 0o644))
	}
	allowed := readAllowed(t)
	for dir, places := range found {
		if len(places) > allowed[dir] {
			t.Errorf("%s holds %d banned words, allowed are %d:\n%s", dir, len(places), allowed[dir], strings.Join(places, "\n"))
		}
	}
}

const allowedFile = "internal/tools/words/allowed.txt"

// files lists the Go and Markdown files of the tree that people write; generated code and this list are left out.
func files(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "ls-files", "*.go", "*.md").Output()
	require.NoError(t, err)
	return slices.DeleteFunc(strings.Fields(string(out)), func(path string) bool {
		_, err := os.Stat(path)
		return err != nil || strings.HasPrefix(path, "internal/postgres/db/") || strings.HasPrefix(path, "internal/tools/words/")
	})
}

// folder returns the folder that a file is counted in: two levels of internal and docs, else one.
func folder(path string) string {
	parts := strings.Split(filepath.ToSlash(filepath.Dir(path)), "/")
	if parts[0] == "internal" || parts[0] == "docs" {
		return strings.Join(parts[:min(len(parts), 2)], "/")
	}
	return parts[0]
}

// bannedIn returns each banned word of a file with its place, as "path:line: word".
func bannedIn(path string, content []byte) []string {
	if !strings.HasSuffix(path, ".go") {
		return matches(path, 1, string(content))
	}
	var places []string
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile(path, -1, len(content)), content, nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return places
		}
		if tok == token.COMMENT || tok == token.STRING {
			places = append(places, matches(path, set.Position(pos).Line, text)...)
		}
	}
}

func matches(path string, line int, text string) []string {
	var places []string
	for _, at := range banned.FindAllStringIndex(text, -1) {
		places = append(places, fmt.Sprintf("%s:%d: %s", path, line+strings.Count(text[:at[0]], "\n"), text[at[0]:at[1]]))
	}
	return places
}

func format(found map[string][]string) []byte {
	var out bytes.Buffer
	for _, dir := range slices.Sorted(maps.Keys(found)) {
		if n := len(found[dir]); n > 0 {
			fmt.Fprintln(&out, dir, n)
		}
	}
	return out.Bytes()
}

func readAllowed(t *testing.T) map[string]int {
	t.Helper()
	content, err := os.ReadFile(allowedFile)
	require.NoError(t, err)
	allowed := map[string]int{}
	for line := range strings.Lines(string(content)) {
		var dir string
		var n int
		_, err := fmt.Sscan(line, &dir, &n)
		require.NoError(t, err, line)
		allowed[dir] = n
	}
	return allowed
}

func TestBannedIn_LooksAtCommentsAndStringsOnly(t *testing.T) {
	t.Parallel()
	source := "package a\n\n// x goes\n// on, likewise y\nvar whom = `one\nmended`\n"
	require.Equal(t, []string{"a.go:4: likewise", "a.go:6: mended"}, bannedIn("a.go", []byte(source)))
	require.Equal(t, []string{"a.md:2: Hence"}, bannedIn("a.md", []byte("heartbeat\nHence thence\n")))
}
