// Command size prints the hand-written lines of the tree that git knows: by folder, by kind, and what is long.
package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// kinds of lines, in the order in which they are printed.
const (
	product = "product"
	sql     = "SQL"
	tests   = "tests"
	testkit = "test kit"
	tools   = "benches and tools"

	wide = 120 // columns; a tab counts as one
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	names, err := exec.CommandContext(context.Background(), "git", "ls-files", "*.go", "*.sql").Output()
	if err != nil {
		return fmt.Errorf("list files: %w", err)
	}
	s := newSizes()
	for name := range strings.FieldsSeq(string(names)) {
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue // deleted and not committed
		}
		if err == nil {
			err = s.add(name, text)
		}
		if err != nil {
			return err
		}
	}
	s.print(out)
	return nil
}

// longest is the longest function or file of a kind.
type longest struct {
	name  string
	lines int
}

func (l *longest) see(name string, lines int) {
	if lines > l.lines {
		*l = longest{name, lines}
	}
}

type sizes struct {
	folders, sums, over map[string]int // folders: product only
	function, file      map[string]*longest
}

func newSizes() *sizes {
	s := &sizes{folders: map[string]int{}, sums: map[string]int{}, over: map[string]int{}, function: map[string]*longest{}, file: map[string]*longest{}}
	for _, kind := range kinds() {
		s.function[kind], s.file[kind] = &longest{}, &longest{}
	}
	return s
}

func kinds() []string { return []string{product, sql, tests, testkit, tools} }

// kindOf returns the kind of a file.
func kindOf(name string) string {
	switch {
	case strings.HasSuffix(name, ".sql"):
		return sql
	case strings.HasSuffix(name, "_test.go"):
		return tests
	case strings.HasPrefix(name, "internal/testkit/"):
		return testkit
	case strings.HasPrefix(name, "internal/bench/"), strings.HasPrefix(name, "internal/tools/"):
		return tools
	}
	return product
}

var generated = regexp.MustCompile(`(?m)^(//|--) Code generated .* DO NOT EDIT\.$`)

func (s *sizes) add(name string, text []byte) error {
	if generated.Match(text) {
		return nil
	}
	kind, lines := kindOf(name), bytes.Count(text, []byte("\n"))
	s.sums[kind] += lines
	for line := range bytes.Lines(text) {
		if utf8.RuneCount(bytes.TrimRight(line, "\n")) > wide {
			s.over[kind]++
		}
	}
	s.file[kind].see(name, lines)
	if kind == product {
		s.folders[path.Dir(name)] += lines
	}
	if kind == sql {
		return nil
	}
	return s.addFunctions(kind, name, text)
}

func (s *sizes) addFunctions(kind, name string, text []byte) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			from, to := set.Position(f.Pos()), set.Position(f.End())
			s.function[kind].see(fmt.Sprintf("%s:%d %s", name, from.Line, f.Name.Name), to.Line-from.Line-1)
		}
	}
	return nil
}

func (s *sizes) print(out io.Writer) {
	folders := slices.SortedFunc(maps.Keys(s.folders), func(a, b string) int {
		return cmp.Or(s.folders[b]-s.folders[a], strings.Compare(a, b))
	})
	for _, folder := range folders {
		fmt.Fprintf(out, "%8d  %s\n", s.folders[folder], folder)
	}
	total, over := 0, 0
	fmt.Fprintf(out, "\n%8s  %-18s %8s  longest file; longest function, in lines of its body\n", "lines", "kind", "over 120")
	for _, kind := range kinds() {
		total, over = total+s.sums[kind], over+s.over[kind]
		fmt.Fprintf(out, "%8d  %-18s %7.1f%%  %d %s", s.sums[kind], kind, percent(s.over[kind], s.sums[kind]), s.file[kind].lines, s.file[kind].name)
		if f := s.function[kind]; f.lines > 0 {
			fmt.Fprintf(out, "; %d %s", f.lines, f.name)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "%8d  %-18s %7.1f%%\n", total, "all", percent(over, total))
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }
