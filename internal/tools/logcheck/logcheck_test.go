// Package logcheck_test checks the form of every line that omoi logs.
package logcheck_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	message  = regexp.MustCompile(`^[a-z].*[^.:!\s]$`)
	key      = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	anything = regexp.MustCompile("")

	// position is that of the message in the arguments of each method of a logger.
	position = map[string]int{
		"Debug": 0, "Info": 0, "Warn": 0, "Error": 0, "LogAttrs": 2,
		"DebugContext": 1, "InfoContext": 1, "WarnContext": 1, "ErrorContext": 1,
	}
)

// TestLogLines_HaveOneForm: the message of a line is a constant that begins in lower case and has no full stop, and keys are snake_case.
func TestLogLines_HaveOneForm(t *testing.T) {
	t.Parallel()
	files, lines := token.NewFileSet(), 0
	require.NoError(t, filepath.WalkDir(filepath.Join("..", "..", ".."), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok {
				found, text, form := line(call)
				lines += found
				require.Regexp(t, form, text, "%s", files.Position(call.Pos()))
			}
			return true
		})
		return nil
	}))
	require.Greater(t, lines, 100, "the check no longer finds the lines")
}

// line returns what has to have a form in a call: the message of a line, or the key of an attribute.
func line(call *ast.CallExpr) (lines int, text string, form *regexp.Regexp) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return 0, "", anything
	}
	of := strings.ToLower(name(method.X))
	at, logs := position[method.Sel.Name]
	switch {
	case logs && (of == "log" || of == "slog" || of == "getlogger"):
		return 1, constant(call.Args[at]), message
	case of == "slog" && len(call.Args) == 2 && !strings.HasPrefix(method.Sel.Name, "New"):
		return 0, constant(call.Args[0]), key
	}
	return 0, "", anything
}

// name returns the last identifier of an expression.
func name(of ast.Expr) string {
	switch x := of.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	case *ast.CallExpr:
		return name(x.Fun)
	}
	return ""
}

// constant returns the value of a string literal; empty if the expression is another one.
func constant(of ast.Expr) string {
	literal, ok := of.(*ast.BasicLit)
	if !ok {
		return ""
	}
	text, _ := strconv.Unquote(literal.Value)
	return text
}
