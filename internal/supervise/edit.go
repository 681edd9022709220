package supervise

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/omoi-dev/omoi/internal/taskcontract"
)

func edited(e *Event, f *fields) {
	e.Call, e.Path = f.ToolUseID, f.Path
	e.Edit = &Edit{Change: f.Change, Added: f.Added, Removed: f.Removed, judges: taskcontract.Judges(f.Path)}
	diff := cmp.Or(f.Diff, f.Preview)
	e.Edit.lines(diff, configuring.MatchString(f.Path))
	if strings.Contains(diff, "@@") { // a preview may say why there is no diff
		e.Edit.diff = diff
	}
}

// lines reads a unified diff. Digests are sums over lines, so that an edit and its reversal cancel out in any order.
// In a file of settings, a changed line that names tests is one by which tests judge.
func (t *Edit) lines(diff string, setting bool) {
	inHunk := false
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "@@"):
			inHunk = true
			continue
		case !inHunk:
			continue
		case line[0] == '+':
			t.Plus += digest(strings.TrimSpace(line[1:]))
		case line[0] == '-':
			t.Minus += digest(strings.TrimSpace(line[1:]))
		default:
			continue
		}
		t.judges = t.judges || setting && ofTests.MatchString(line)
	}
}

// balance returns the net effect of an edit. The sum over all edits of a file is 0 if they cancel out.
func (t *Edit) balance() uint64 { return t.Plus - t.Minus }

var (
	// configuring matches files that configure runners, among other things.
	configuring = regexp.MustCompile(`(?:^|/)(?:Makefile|[^/]+\.(?:json|toml|cfg|ini|ya?ml|xml|gradle|mk))$`)
	ofTests     = regexp.MustCompile(`(?i)\btest`)
)
