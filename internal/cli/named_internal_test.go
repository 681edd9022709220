package cli

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// named matches command lines in texts: at the start of a line, after a backquote, a prompt or a pipe, in parentheses,
// and after words such as "Next: " and "or ".
var named = regexp.MustCompile("(?m)(^ *|[`(|]|[$:;,&] |Next: |: exec | or | and |\\d )omoi ([a-z-]+)([^`\n;,]*)")

// code matches code blocks and code spans of Markdown.
var code = regexp.MustCompile("(?ms)^```.*?^```|^    .*?$|`[^`]+`")

// former lists names of removed commands.
var former = []string{"hosts", "tickets", "stop", "verdict", "interventions", "compare"}

// TestNamedCommands_Exist looks up every command line in the texts of the sources and in the documents, with its flags.
func TestNamedCommands_Exist(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	root := newRoot(testGlobals(&out))
	found, wrong := 0, []string{}
	check := func(path, text string) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			sure := m[1] == "`" || m[1] == "Next: " || slices.Contains(former, m[2])
			if !sure && commandNamed(root, m[2]) == nil || m[2] == "help" {
				continue // prose
			}
			found++
			if problem := wrongCommand(root, strings.Fields(m[2]+m[3])); problem != "" {
				wrong = append(wrong, path+": omoi "+m[2]+m[3]+": "+problem)
			}
		}
	}
	top := filepath.Join("..", "..")
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(top, path)
		switch {
		case d.IsDir() && slices.Contains([]string{".git", "bin", "node_modules", filepath.Join("docs", "decisions")}, rel):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".md"):
			raw, err := os.ReadFile(path)
			for _, shown := range code.FindAllString(string(raw), -1) {
				check(rel, strings.Trim(shown, "`"))
			}
			return err
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
			texts, err := textsOf(path)
			for _, text := range texts {
				check(rel, text)
			}
			return err
		}
		return nil
	})
	require.NoError(t, err)
	require.Empty(t, wrong, strings.Join(wrong, "\n"))
	require.Greater(t, found, 300)
}

// wrongCommand returns what is wrong with a command line; empty: valid.
func wrongCommand(root *cobra.Command, words []string) string {
	cmd := root
	for len(words) > 0 && cmd.HasSubCommands() && regexp.MustCompile(`^[a-z][a-z|-]*(%s)?[.)?]*$`).MatchString(words[0]) {
		names := strings.Split(strings.TrimRight(words[0], ".)?"), "|")
		for _, name := range names {
			name, _, _ = strings.Cut(name, "%")
			next := commandNamed(cmd, name)
			if next == nil {
				return "there is no " + name + " in " + cmd.CommandPath()
			}
			if name == names[len(names)-1] {
				cmd = next
			}
		}
		words = words[1:]
	}
	if cmd.HasSubCommands() && len(words) > 0 {
		return "" // a placeholder for any subcommand
	}
	for _, word := range words {
		if word == "--" || word == "|" || word == "#" || strings.HasPrefix(word, "(") {
			break
		}
		flag, _, _ := strings.Cut(strings.TrimRight(word, ").]"), "=")
		if name, long := strings.CutPrefix(flag, "--"); long && name != "help" && name != "version" && cmd.Flag(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
			return cmd.CommandPath() + " has no flag " + flag
		}
	}
	return ""
}

func commandNamed(in *cobra.Command, name string) *cobra.Command {
	for _, cmd := range in.Commands() {
		if cmd.Name() == name || cmd.HasAlias(name) {
			return cmd
		}
	}
	return nil
}

// textsOf returns the string literals of a Go file, without struct tags. Strings joined by + are one text, in which X
// replaces each other operand.
func textsOf(path string) (texts []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			n.Tag = nil
		case *ast.BinaryExpr, *ast.BasicLit:
			if text, literal := joined(n.(ast.Expr)); literal {
				texts = append(texts, text)
				return false
			}
		}
		return true
	})
	return texts, nil
}

func joined(e ast.Expr) (text string, literal bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, l := joined(e.X)
		right, r := joined(e.Y)
		return left + right, e.Op == token.ADD && (l || r)
	}
	return "X", false
}
