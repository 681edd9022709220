package review_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/review"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestDiff_Texts(t *testing.T) {
	t.Parallel()
	const none = "\\ No newline at end of file"
	long := strings.Repeat("é", 2000) + strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		before, after string
		want          []review.Hunk
	}{
		"added":         {"", "one\ntwo\n", []review.Hunk{{OldStart: 0, NewStart: 1, NewLines: 2, Lines: []string{"+one", "+two"}}}},
		"deleted lines": {"one\ntwo\n", "two\n", []review.Hunk{{OldStart: 1, OldLines: 2, NewStart: 1, NewLines: 1, Lines: []string{"-one", " two"}}}},
		"emptied":       {"one\n", "", []review.Hunk{{OldStart: 1, OldLines: 1, NewStart: 0, Lines: []string{"-one"}}}},
		"no line break": {"one", "one\ntwo", []review.Hunk{{OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 2, Lines: []string{"-one", none, "+one", "+two", none}}}},
		"line breaks":   {"one\n", "one\r\n", []review.Hunk{{OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1, Lines: []string{"-one", "+one\r"}}}},
		"like a header": {"@@ -1 +1 @@\n-- a\n", "++ b\n", []review.Hunk{{OldStart: 1, OldLines: 2, NewStart: 1, NewLines: 1, Lines: []string{"-@@ -1 +1 @@", "--- a", "+++ b"}}}},
		"other bytes":   {"caf\xe9\n", "cafe\n", []review.Hunk{{OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1, Lines: []string{"-caf\ufffd", "+cafe"}}}},
		"long line": {"x\n", long + "\n", []review.Hunk{{
			OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1, Lines: []string{"-x", "+" + long[:4095]}, Cut: []review.CutLine{{Line: 1, Bytes: len(long) + 1}},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			r.write("f", c.before)
			base := r.commit()
			r.task.Base, r.store.branch = &base, base
			r.write("f", c.after)
			r.checkpoint()
			for n := range c.want {
				if c.want[n].Cut == nil {
					c.want[n].Cut = []review.CutLine{}
				}
			}
			found := r.diff("f", review.DiffQuery{Context: 3})
			require.Equal(t, c.want, found.Hunks)
			require.Equal(t, name == "other bytes", found.InvalidUTF8)
			require.Nil(t, found.NextOffset)
		})
	}
}

func TestDiff_ContextAndWhiteSpace(t *testing.T) {
	t.Parallel()
	r := setup(t)
	body := strings.ReplaceAll(numbered(20), "line", " line")
	r.write("f.go", "func a() {\n"+body+"}\n")
	base := r.commit()
	r.task.Base, r.store.branch = &base, base
	r.write("f.go", "func a() {\n"+strings.Replace(strings.Replace(body, "line 10\n", "line ten\n", 1), "line 18\n", "  line  18\n", 1)+"}\n")
	r.checkpoint()
	found := r.diff("f.go", review.DiffQuery{Context: 1})
	require.Len(t, found.Hunks, 2)
	require.Equal(t, []string{"  line 9", "- line 10", "+ line ten", "  line 11"}, found.Hunks[0].Lines)
	require.Equal(t, "func a() {", found.Hunks[0].Section)
	require.Equal(t, [4]int{10, 3, 10, 3}, [4]int{found.Hunks[0].OldStart, found.Hunks[0].OldLines, found.Hunks[0].NewStart, found.Hunks[0].NewLines})
	require.Len(t, r.diff("f.go", review.DiffQuery{Context: 100}).Hunks[0].Lines, 24)
	require.Len(t, r.diff("f.go", review.DiffQuery{Context: 1, IgnoreSpace: true}).Hunks, 1)
}

// TestDiff_Pages puts the pages of a long difference together.
func TestDiff_Pages(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.write("f", numbered(50_000))
	base := r.commit()
	r.task.Base, r.store.branch = &base, base
	r.write("f", strings.ReplaceAll(numbered(50_000), "7\n", "seven\n"))
	c := r.checkpoint()

	want := strings.Split(r.git(nil, "diff", "--unified=3", base+":f", c.Commit+":work/f"), "\n")
	lines := []string{}
	for offset, pages := new(0), 0; offset != nil; pages++ {
		require.Less(t, pages, 100)
		page := r.diff("f", review.DiffQuery{Context: 3, Offset: *offset})
		require.Equal(t, *offset, page.Offset)
		for _, h := range page.Hunks {
			lines = append(lines, fmt.Sprintf("@@ -%d,%d +%d,%d @@", h.OldStart, h.OldLines, h.NewStart, h.NewLines))
			lines = append(lines, h.Lines...)
		}
		offset = page.NextOffset
	}
	require.Equal(t, joined(t, want[4:]), joined(t, lines))
}

// joined returns the lines of hunks with their numbers on both sides.
func joined(t *testing.T, lines []string) []string {
	t.Helper()
	before, after, out := 0, 0, []string{}
	for _, line := range lines {
		var a, b int
		if n, _ := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &before, &a, &after, &b); n == 4 {
			continue
		}
		out = append(out, fmt.Sprintf("%d %d %s", before, after, line))
		if line[0] != '+' {
			before++
		}
		if line[0] != '-' {
			after++
		}
	}
	return out
}

func TestDiff_PageEndsBehindItsBytes(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.write("f", strings.Repeat(strings.Repeat("x", 3000)+"\n", 1000))
	r.checkpoint()
	page := r.diff("f", review.DiffQuery{Context: 3})
	require.Len(t, page.Hunks[0].Lines, 175, "512 KiB")
	require.Equal(t, 175, *page.NextOffset)
}

func TestDiff_WithoutHunks(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.write("binary", "a\x00b")
	r.git(nil, "mv", "a.txt", "b.txt")
	r.checkpoint()
	require.Empty(t, r.diff("binary", review.DiffQuery{Context: 3}).Hunks)
	require.Empty(t, r.diff("b.txt", review.DiffQuery{Context: 3}).Hunks)
	for _, path := range []string{"a.txt", "none", "../a.txt", "--output=/tmp/x"} {
		_, err := r.service.Diff(t.Context(), r.task, r.point("base"), r.point("latest"), review.DiffQuery{Path: path})
		require.Equal(t, task.KindPathNotFound, task.KindOf(err), path)
	}
}

func TestDiff_OfALargeFile(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.write("large", strings.Repeat("x", 33<<20))
	r.checkpoint()
	require.True(t, r.changes("base", "latest").Files[0].Binary)
	_, err := r.service.Diff(t.Context(), r.task, r.point("base"), r.point("latest"), review.DiffQuery{Path: "large"})
	require.Equal(t, task.KindFilesTooLarge, task.KindOf(err))
	_, err = r.service.File(t.Context(), r.task, r.point("latest"), review.FileQuery{Path: "large", Limit: 10})
	require.Equal(t, task.KindFilesTooLarge, task.KindOf(err))
}

// TestFile_ReadsItFromGitOnce puts other bytes in place of the content that a copy has on disk: further pieces come from there.
func TestFile_ReadsItFromGitOnce(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.write("f.txt", strings.Repeat("a", 100))
	r.write("g.txt", strings.Repeat("g", 100))
	r.checkpoint()
	piece := func(path string, offset int) string {
		f, err := r.service.File(t.Context(), r.task, r.point("1.1"), review.FileQuery{Path: path, Offset: offset, Limit: 10})
		require.NoError(t, err)
		return f.Text
	}
	require.Equal(t, strings.Repeat("a", 10), piece("f.txt", 0))
	kept, err := filepath.Glob(filepath.Join(filepath.Dir(r.repo), "omoi-scratch-*", "omoi-review-*", "blob"))
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.NoError(t, os.WriteFile(kept[0], []byte(strings.Repeat("b", 100)), 0o600))
	require.Equal(t, strings.Repeat("b", 10), piece("f.txt", 10))
	require.Equal(t, strings.Repeat("g", 10), piece("g.txt", 10), "another file")
	require.Equal(t, strings.Repeat("a", 10), piece("f.txt", 90))
	require.NoError(t, os.Remove(kept[0]))
	require.Equal(t, strings.Repeat("a", 10), piece("f.txt", 90), "a cleaner removed it")
}

func TestFile_InPieces(t *testing.T) {
	t.Parallel()
	r := setup(t)
	text := strings.Repeat("日本\n", 1000)
	r.write("dir/f.txt", text)
	r.write("latin", "caf\xe9")
	r.write("binary", "a\x00b")
	r.git(nil, "add", "--all")
	r.git([]byte("target"), "hash-object", "-w", "--stdin")
	r.checkpoint()
	file := func(path string, offset, limit int) review.File {
		f, err := r.service.File(t.Context(), r.task, r.point("1.1"), review.FileQuery{Path: path, Offset: offset, Limit: limit})
		require.NoError(t, err, path)
		return f
	}
	got := ""
	for offset := new(0); offset != nil; {
		f := file("dir/f.txt", *offset, 1000)
		require.Equal(t, [2]int{len(got), len(text)}, [2]int{f.OffsetBytes, f.TotalBytes})
		got, offset = got+f.Text, f.NextOffset
	}
	require.Equal(t, text, got)
	require.Equal(t, 3, file("dir/f.txt", 1, 100).OffsetBytes, "the next character")
	require.Equal(t, "caf\ufffd", file("latin", 0, 100).Text)
	require.True(t, file("latin", 0, 100).InvalidUTF8)
	require.Empty(t, file("binary", 0, 100).Text)
	require.True(t, file("binary", 0, 100).Binary)
	require.Equal(t, "one\n", file("a.txt", 0, 4).Text, "of the base")
	for _, path := range []string{"none", "dir", "dir/", "/a.txt", "./a.txt", "dir/../a.txt", "*.txt", ":(glob)*", "a.txt\x00", "dir/f.txt/x"} {
		_, err := r.service.File(t.Context(), r.task, r.point("1.1"), review.FileQuery{Path: path, Limit: 10})
		require.Equal(t, task.KindPathNotFound, task.KindOf(err), "%q: %v", path, err)
	}
}
