package track

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
)

// ignores asks git which paths are ignored. The process reads .gitignore of the top folder once, so a change needs a new process.
type ignores struct{ *helper }

func newIgnores(git gitcmd.Git) ignores {
	return ignores{newHelper(git, "check-ignore", "--no-index", "--verbose", "--non-matching", "-z", "--stdin")}
}

// ask returns the paths that git ignores. The first question is about a path in the top folder, so that git reads .gitignore of
// all other folders again.
func (i ignores) ask(ctx context.Context, paths []string) (map[string]bool, error) {
	ignored := map[string]bool{}
	if len(paths) == 0 {
		return ignored, nil
	}
	var question strings.Builder
	for _, path := range append([]string{"top"}, paths...) {
		question.WriteString("./" + path + "\x00") // without ./ a leading colon has a meaning
	}
	err := i.helper.ask(ctx, question.String(), func(out *bufio.Reader) error {
		for n := range len(paths) + 1 {
			path, yes, err := answer(out)
			if err != nil {
				return err
			}
			if n > 0 && yes {
				ignored[path] = true
			}
		}
		return nil
	})
	return ignored, err
}

// answer reads four fields: file of the rule, line, rule (an exclamation mark negates), path.
func answer(out *bufio.Reader) (path string, ignored bool, err error) {
	var fields [4]string
	for n := range fields {
		field, err := out.ReadString(0)
		if err != nil {
			return "", false, fmt.Errorf("read whether a path is ignored: %w", err)
		}
		fields[n] = strings.TrimSuffix(field, "\x00")
	}
	rule := fields[2]
	return strings.TrimPrefix(fields[3], "./"), rule != "" && rule[0] != '!', nil
}
