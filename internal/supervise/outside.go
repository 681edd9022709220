package supervise

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

const namedFiles = 3

// outside matches edits of files that the task does not allow. Reverted edits, files that tools write and paths that a
// user allowed do not count.
func outside(t *history, s Settings) *Finding {
	if len(t.Limits.Paths) == 0 {
		return nil
	}
	return edits(t, s, "outside of what the task allows ("+strings.Join(t.Limits.Paths, ", ")+")", func(path string) bool {
		return !anyPath(t.Limits.Paths, path)
	})
}

// constraint matches edits of forbidden files, and forbidden commands.
func constraint(t *history, s Settings) *Finding {
	if f := forbidden(t); f != nil {
		return f
	}
	if len(t.Limits.NoPaths) == 0 {
		return nil
	}
	return edits(t, s, "that the task forbids to change", func(path string) bool { return anyPath(t.Limits.NoPaths, path) })
}

func edits(t *history, s Settings, which string, wrong func(name string) bool) *Finding {
	var files []string
	var seen []int64
	for i := range t.Events {
		e := &t.Events[i]
		if e.Edit == nil || !t.left(e.Path) || !wrong(e.Path) || anyPath(s.Ignored, e.Path) || anyPath(t.lifted, e.Path) {
			continue
		}
		seen = append(seen, e.Sequence)
		if !slices.Contains(files, e.Path) {
			files = append(files, e.Path)
		}
	}
	if len(files) == 0 {
		return nil
	}
	list := strings.Join(files[:min(len(files), namedFiles)], ", ")
	return &Finding{
		Why:        fmt.Sprintf("It has changed %s %s: %s.", counted(len(files), "file"), which, list),
		Advice:     fmt.Sprintf("You have changed files %s: %s. Undo that, or say why the task cannot be done without it.", which, list),
		Confidence: 0.9, Evidence: seen[max(0, len(seen)-6):],
	}
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// forbidden matches the newest command that the task forbids.
func forbidden(t *history) *Finding {
	for _, st := range slices.Backward(t.steps) {
		name := oneOf(st.use.commands, t.Limits.NoCommands...)
		if name == "" {
			continue
		}
		return &Finding{
			Why:        fmt.Sprintf("It ran %q, which the task forbids.", name),
			Advice:     fmt.Sprintf("The task forbids to run %q. Do not run it again; say what it has changed.", name),
			Confidence: 0.9, Evidence: evidence([]*step{st}, 1),
		}
	}
	return nil
}

// anyPath reports whether a pattern covers file. A pattern without a wildcard covers a file, or a folder with its
// content; * matches within one name, ** any number of folders. For an absolute path, each trailing part is tried,
// because the location of the workspace is unknown.
func anyPath(patterns []string, file string) bool {
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
