package supervise

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

func edited(e *Event, f *fields) {
	e.Call, e.Path = f.ToolUseID, f.Path
	edit := &Edit{Change: f.Change, Added: f.Added, Removed: f.Removed, TestFile: isTestFile(f.Path)}
	diff := f.Diff
	if diff == "" {
		diff = f.Preview
	}
	edit.lines(diff)
	if edit.TestFile && edit.Change == "deleted" && edit.Tests == 0 {
		edit.Tests = -1 // the event carries no diff
	}
	e.Edit = edit
}

// lines reads a unified diff. Digests are sums over lines, so that an edit and its reversal cancel out in any order.
func (t *Edit) lines(diff string) {
	inHunk := false
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "@@"):
			inHunk = true
		case !inHunk:
		case line[0] == '+':
			t.Plus += digest(strings.TrimSpace(line[1:]))
			t.count(line[1:], 1)
		case line[0] == '-':
			t.Minus += digest(strings.TrimSpace(line[1:]))
			t.count(line[1:], -1)
		}
	}
}

// balance returns the net effect of an edit. The sum over all edits of a file is 0 if they cancel out.
func (t *Edit) balance() uint64 { return t.Plus - t.Minus }

var (
	testStart = regexp.MustCompile(`^\s*(?:func (?:Test|Fuzz)\w*\(|(?:async )?def test_?\w*\(|(?:it|test)(?:\.each\(.*\))?\(|#\[(?:tokio::)?test\]|@Test\b|(?:it|specify) ['"])`)
	testCheck = regexp.MustCompile(`\bassert\w*\b|\brequire\.\w+\(|\bexpect\(|\bt\.(?:Error|Fatal|Fail)\w*\(|\b(?:EXPECT|ASSERT)_\w+|\bself\.fail\w*\(|\.should\b`)
	hollow    = regexp.MustCompile(`assert\s*\(?\s*(?:True|true|1)\s*\)?\s*(?:[,;#]|$)|expect\(true\)\.toBe\(true\)|assert\s+1\s*==\s*1|(?:True|assertTrue)\((?:t, ?)?(?:True|true)\)`)
	testSkip  = regexp.MustCompile(`\bt\.Skip\w*\(|pytest\.(?:mark\.)?(?:skip|xfail)|unittest\.skip|\b(?:it|test|describe)\.(?:skip|todo)\b|\bx(?:it|test|describe)\(|#\[ignore|@(?:Disabled|Ignore)\b`)
)

func (t *Edit) count(line string, by int) {
	if !t.TestFile {
		return
	}
	line = uncommented(line)
	if testStart.MatchString(line) {
		t.Tests += by
	}
	if testCheck.MatchString(line) && !hollow.MatchString(line) {
		t.Checks += by
	}
	if testSkip.MatchString(line) {
		t.Skips += by
	}
}

// uncommented returns line without comments. A comment mark inside a string also cuts the line, which can hide a check.
func uncommented(line string) string {
	line = strings.TrimSpace(line)
	for _, mark := range []string{"//", "/*", "#"} {
		if strings.HasPrefix(line, mark) && !strings.HasPrefix(line, "#[") {
			return ""
		}
		line, _, _ = strings.Cut(line, " "+mark+" ")
	}
	return line
}

var testName = regexp.MustCompile(`^test_|[._](?:test|spec)$|Tests?$|^tests$`)

// isTestFile reports whether test runners recognize the file by its name or folder.
func isTestFile(file string) bool {
	name := path.Base(file)
	stem := strings.TrimSuffix(name, path.Ext(name))
	return testName.MatchString(stem) || slices.ContainsFunc(strings.Split(path.Dir(file), "/"), func(dir string) bool {
		return dir == "tests" || dir == "test" || dir == "__tests__" || dir == "spec"
	})
}
