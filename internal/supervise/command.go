package supervise

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// command is a program with its arguments, as a shell command runs it.
type command struct {
	words    []string // the program and its arguments, without quotes; a variable or substitution is "$"
	wrappers []string // distinct programs that run it, outermost first, for example timeout
}

// Limits of a shell command that is read, because an agent can send any text: its bytes, its commands, and the scripts that run
// each other.
const (
	maxParsed   = 32 << 10
	maxCommands = 500
	maxNested   = 16
)

// commandsIn returns the commands that a shell command runs, also in substitutions and behind "sh -c". Nil: unknown,
// because the text is too long or does not parse.
func commandsIn(text string) []command { return commandsAt(text, 0) }

// commandsAt is commandsIn of a script that a number of others run.
func commandsAt(text string, nested int) (list []command) {
	if len(text) > maxParsed || nested > maxNested {
		return nil
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			list = append(list, unwrapped(call.Args, nested)...)
		}
		return len(list) <= maxCommands
	})
	if len(list) > maxCommands {
		return nil
	}
	return list
}

// unwrapped returns a command without its wrappers, or the commands of the script that a shell runs for it.
func unwrapped(args []*syntax.Word, nested int) []command {
	c := command{words: make([]string, len(args))}
	for i, word := range args {
		c.words[i] = plainWord(word.Parts)
	}
	for inner := wrapped(c.words); inner != nil; inner = wrapped(c.words) {
		name := path.Base(c.words[0])
		if slices.Contains(c.words[1:len(c.words)-len(inner)], "run") { // of uv
			name += " run"
		}
		if !slices.Contains(c.wrappers, name) {
			c.wrappers = append(c.wrappers, name)
		}
		c.words = inner
	}
	if len(c.words) > 2 && shell.MatchString(c.words[0]+" "+c.words[1]) {
		return commandsAt(c.words[2], nested+1)
	}
	if c.words[0] == "eval" {
		return commandsAt(strings.Join(c.words[1:], " "), nested+1)
	}
	return []command{c}
}

func plainWord(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(part.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			b.WriteString(plainWord(part.Parts))
		default:
			b.WriteByte('$')
		}
	}
	return b.String()
}

var (
	shell = regexp.MustCompile(`^(?:.*/)?(?:ba|da|k|z)?sh -[a-z]*c$`)
	// wrapper matches programs that run the command behind their flags and numbers, valued their flags that take a word.
	wrapper   = regexp.MustCompile(`^(?:.*/)?(?:sudo|env|nice|nohup|timeout|time|command|exec|stdbuf|setsid|ionice|xargs|uv|npx)$`)
	valued    = regexp.MustCompile(`^-[ugCsfoIda]$`)
	noCommand = regexp.MustCompile(`^-|^\$|^[\d.]+[smhd]?$|^\w+=|^run$`)
)

// wrapped returns the command that a wrapper runs; nil: words are not a wrapper with a command.
func wrapped(words []string) []string {
	if i := slices.IndexFunc(words, isExec); path.Base(words[0]) == "find" && i > 0 && i+1 < len(words) {
		return words[i+1:]
	}
	if !wrapper.MatchString(words[0]) {
		return nil
	}
	for i := 1; i < len(words); i++ {
		switch {
		case !noCommand.MatchString(words[i]):
			return words[i:]
		case valued.MatchString(words[i]):
			i++
		}
	}
	return nil
}

// isExec reports whether a word is the flag of find before the command that it runs.
func isExec(word string) bool { return word == "-exec" || word == "-execdir" }

// line returns the words of a command without texts such as a commit message.
func (c command) line() string {
	return strings.Join(slices.DeleteFunc(slices.Clone(c.words), func(word string) bool { return strings.ContainsAny(word, " \t\n") }), " ")
}

// oneOf returns the name with which one of the commands begins, with or without a wrapper. Empty: none.
func oneOf(list []command, names ...string) string {
	for _, c := range list {
		for _, wrapper := range append([]string{""}, c.wrappers...) {
			for _, name := range names {
				if begins(strings.Fields(wrapper+" "+c.line()), strings.Fields(name)) {
					return name
				}
			}
		}
	}
	return ""
}

// begins reports whether words begin with name. Flags and settings such as a=b may be in between.
func begins(words, name []string) bool {
	for len(name) > 0 && len(words) > 0 {
		switch {
		case words[0] == name[0]:
			name = name[1:]
		case words[0] == "-C" && len(words) > 1: // git in another folder
			words = words[1:]
		case !strings.HasPrefix(words[0], "-") && !strings.HasPrefix(name[0], "-") && !strings.Contains(words[0], "="):
			return false
		}
		words = words[1:]
	}
	return len(name) == 0
}
