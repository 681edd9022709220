package taskcontract

import (
	"path"
	"regexp"
	"strings"
)

// ForbidsChange returns the sentence of the contract that forbids to change a file. Empty: none, apart from
// [Contract.OutsidePaths]. The function test reports whether the file is a test that the agent did not add.
func (c Contract) ForbidsChange(file string, test func() bool) string {
	var said Contract
	switch {
	case Covers(c.ForbiddenPaths, file):
		for _, p := range c.ForbiddenPaths {
			if Covers([]string{p}, file) {
				said.ForbiddenPaths = append(said.ForbiddenPaths, p)
			}
		}
	case c.ChangeWanted != nil && !*c.ChangeWanted:
		said.ChangeWanted = c.ChangeWanted
	case c.TestsMayChange != nil && !*c.TestsMayChange && test():
		said.TestsMayChange = c.TestsMayChange
	}
	return said.sentence()
}

// OutsidePaths returns the sentence of the contract that does not allow to change a file. Empty: none.
func (c Contract) OutsidePaths(file string) string {
	if len(c.AllowedPaths) == 0 || Covers(c.AllowedPaths, file) {
		return ""
	}
	return Contract{AllowedPaths: c.AllowedPaths}.sentence()
}

// Refuses reports whether the contract can refuse a tool call.
func (c Contract) Refuses() bool {
	return len(c.AllowedPaths)+len(c.ForbiddenPaths)+len(c.ForbiddenCommands) > 0 || c.TestsMayChange != nil && !*c.TestsMayChange || c.ChangeWanted != nil && !*c.ChangeWanted
}

// ForbidsCommand returns the sentence about one of the forbidden commands.
func ForbidsCommand(name string) string {
	return Contract{ForbiddenCommands: []string{name}}.sentence()
}

func (c Contract) sentence() string { return strings.Join(c.sentences(), " ") }

// judging matches files by which tests judge: tests, their helpers, fixtures, expected results and configuration.
var judging = regexp.MustCompile(`(?i)(?:^|[/._-])(?:tests?|specs?|(?:conf|py|vi)test|jest|testdata|fixtures?|goldens?|snap(?:shot)?s?|mocks?|stubs?|expected)(?:[/._-]|$)` +
	`|(?-i:[a-z0-9](?:Tests?|Spec)\.\w+$)`)

// Judges reports whether tests judge by a file.
func Judges(file string) bool { return judging.MatchString(file) }

// Covers reports whether a pattern covers file. A pattern without a wildcard covers a file, or a folder with its
// content; * matches within one name, ** any number of folders. For an absolute path, each trailing part is tried,
// because the location of the workspace is unknown.
func Covers(patterns []string, file string) bool {
	for _, p := range patterns {
		if covers(p, file) {
			return true
		}
	}
	return false
}

func covers(pattern, file string) bool {
	want, have := split(pattern), split(file)
	if len(want) == 0 {
		return true
	}
	if !strings.ContainsAny(want[len(want)-1], "*?[") {
		want = append(want, "**")
	}
	if !path.IsAbs(file) {
		return fits(want, have)
	}
	for i := range have {
		if fits(want, have[i:]) {
			return true
		}
	}
	return false
}

func split(file string) []string {
	file = strings.Trim(path.Clean("/"+strings.TrimSpace(file)), "/")
	if file == "" {
		return nil
	}
	return strings.Split(file, "/")
}

func fits(want, have []string) bool {
	if len(want) == 0 {
		return len(have) == 0
	}
	if want[0] == "**" {
		for i := range len(have) + 1 {
			if fits(want[1:], have[i:]) {
				return true
			}
		}
		return false
	}
	if len(have) == 0 {
		return false
	}
	ok, err := path.Match(want[0], have[0])
	return err == nil && ok && fits(want[1:], have[1:])
}
