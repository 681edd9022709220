// Package shellcmd reads the commands that a shell command runs.
package shellcmd

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Command is a program with its arguments, as a shell command runs it.
type Command struct {
	Words    []string // the program and its arguments, without quotes; $HOME stays, another variable or substitution is "$"
	Piped    bool     // its input is the output of the command before
	wrappers []string // distinct programs that run it, outermost first, for example timeout
}

// Limits of a shell command that is read, because an agent can send any text: its bytes, its commands, and the scripts that run
// each other.
const (
	maxParsed   = 32 << 10
	maxCommands = 500
	maxNested   = 16
)

// In returns the commands that a shell command runs, also in substitutions and behind "sh -c". Nil: unknown,
// because the text is too long or does not parse.
func In(text string) []Command {
	list := commandsAt(text, 0)
	if setsHome.MatchString(text) {
		for _, c := range list {
			for i, word := range c.Words {
				c.Words[i] = ofHome.ReplaceAllString(word, "$$")
			}
		}
	}
	return list
}

var (
	// setsHome matches a text that sets HOME, so that the home folder is unknown, and ofHome the home folder in a word.
	setsHome = regexp.MustCompile(`\bHOME=`)
	ofHome   = regexp.MustCompile(`^~|\$HOME`)
)

// commandsAt is In of a script that a number of others run.
func commandsAt(text string, nested int) (list []Command) {
	if len(text) > maxParsed || nested > maxNested {
		return nil
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	piped := map[syntax.Command]bool{}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.BinaryCmd:
			piped[node.Y.Cmd] = node.Op == syntax.Pipe || node.Op == syntax.PipeAll
		case *syntax.CallExpr:
			if len(node.Args) == 0 {
				break
			}
			found := unwrapped(node.Args, nested)
			if len(found) > 0 {
				found[0].Piped = piped[node]
			}
			list = append(list, found...)
		}
		return len(list) <= maxCommands
	})
	if len(list) > maxCommands {
		return nil
	}
	return list
}

// unwrapped returns a command without its wrappers, or the commands of the script that a shell runs for it.
func unwrapped(args []*syntax.Word, nested int) []Command {
	c := Command{Words: make([]string, len(args))}
	for i, word := range args {
		c.Words[i] = plainWord(word.Parts)
	}
	for inner := wrapped(c.Words); inner != nil; inner = wrapped(c.Words) {
		name := path.Base(c.Words[0])
		if slices.Contains(c.Words[1:len(c.Words)-len(inner)], "run") { // of uv
			name += " run"
		}
		if !slices.Contains(c.wrappers, name) {
			c.wrappers = append(c.wrappers, name)
		}
		c.Words = inner
	}
	if text, ok := script(c.Words); ok {
		return commandsAt(text, nested+1)
	}
	if c.Words[0] == "eval" {
		return commandsAt(strings.Join(c.Words[1:], " "), nested+1)
	}
	return []Command{c}
}

func plainWord(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(quoted(strings.HasPrefix(part.Value, `\`), strings.ReplaceAll(part.Value, `\`, "")))
		case *syntax.SglQuoted:
			b.WriteString(quoted(true, strings.ReplaceAll(part.Value, "$HOME", "$")))
		case *syntax.DblQuoted:
			b.WriteString(quoted(true, plainWord(part.Parts)))
		case *syntax.ParamExp:
			b.WriteString(home(part))
		default:
			b.WriteByte('$')
		}
	}
	return b.String()
}

// quoted returns a part of a word, in which a quoted ~ is a name and not the home folder.
func quoted(is bool, part string) string {
	if is && strings.HasPrefix(part, "~") {
		return "./" + part
	}
	return part
}

// home returns the word of a parameter.
func home(of *syntax.ParamExp) string {
	if of.Param != nil && of.Param.Value == "HOME" && of.Index == nil && of.Slice == nil && of.Repl == nil && of.Exp == nil && !of.Excl && !of.Length {
		return "$HOME"
	}
	return "$"
}

var (
	shell = regexp.MustCompile(`^(?:.*/)?(?:ba|da|k|z)?sh$`)
	// shellFlags matches flags of a shell, shellValued those before a word of their own, shellScript those with -c.
	shellFlags  = regexp.MustCompile(`^(?:[-+][a-zA-Z]*|--[a-z-]*)$`)
	shellValued = regexp.MustCompile(`^(?:[-+][a-zA-Z]*[oO][a-zA-Z]*|--rcfile|--init-file)$`)
	shellScript = regexp.MustCompile(`^-[a-zA-Z]*c[a-zA-Z]*$`)
	// wrapper matches programs that run the command behind their flags and numbers, valued their flags that take a word.
	wrapper   = regexp.MustCompile(`^(?:.*/)?(?:sudo|env|nice|nohup|timeout|time|command|exec|stdbuf|setsid|ionice|xargs|uv|npx)$`)
	valued    = regexp.MustCompile(`^-[ugCsfoIda]$`)
	asks      = regexp.MustCompile(`^-p?[vV]`) // flags of command that only look a program up
	noCommand = regexp.MustCompile(`^-|^\$|^[\d.]+[smhd]?$|^\w+=|^run$`)
)

// wrapped returns the command that a wrapper runs; nil: words are not a wrapper with a command.
func wrapped(words []string) []string {
	if i := slices.IndexFunc(words, isExec); path.Base(words[0]) == "find" && i > 0 && i+1 < len(words) {
		return words[i+1:]
	}
	if !wrapper.MatchString(words[0]) || len(words) > 1 && path.Base(words[0]) == "command" && asks.MatchString(words[1]) {
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

// script returns the script that a shell runs by -c; false: words do not run one.
func script(words []string) (text string, ok bool) {
	if !shell.MatchString(words[0]) {
		return "", false
	}
	for i := 1; i < len(words); i++ {
		word := words[i]
		if !shellFlags.MatchString(word) {
			return word, ok
		}
		ok = ok || shellScript.MatchString(word)
		if shellValued.MatchString(word) {
			i++
		}
	}
	return "", false
}

// isExec reports whether a word is the flag of find before the command that it runs.
func isExec(word string) bool { return word == "-exec" || word == "-execdir" }

// Behind reports whether a wrapper runs the command.
func (c Command) Behind(wrapper string) bool { return slices.Contains(c.wrappers, wrapper) }

// Line returns the words of a command without texts such as a commit message.
func (c Command) Line() string {
	return strings.Join(slices.DeleteFunc(slices.Clone(c.Words), func(word string) bool { return strings.ContainsAny(word, " \t\n") }), " ")
}

// Line returns texts as words of a POSIX shell, for example a program and its arguments.
func Line(args ...string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// OneOf returns the name with which one of the commands begins, with or without a wrapper. Empty: none.
func OneOf(list []Command, names ...string) string {
	for _, c := range list {
		if name := c.OneOf(names...); name != "" {
			return name
		}
	}
	return ""
}

// OneOf returns the name with which the command begins, with or without a wrapper. Empty: none.
func (c Command) OneOf(names ...string) string {
	line := c.Line()
	for _, wrapper := range append([]string{""}, c.wrappers...) {
		words := strings.Fields(wrapper + " " + line)
		if i := slices.IndexFunc(names, func(name string) bool { return begins(words, strings.Fields(name)) }); i >= 0 {
			return names[i]
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
