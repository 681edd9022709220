package task_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// factKinds returns all kinds of facts but those named.
func factKinds(t *testing.T, but ...task.FactKind) (all []task.FactKind) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "decide.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		one, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := one.Type.(*ast.Ident); ok && kind.Name == "FactKind" {
			value, err := strconv.Unquote(one.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			if !slices.Contains(but, task.FactKind(value)) {
				all = append(all, task.FactKind(value))
			}
		}
		return true
	})
	require.NotEmpty(t, all)
	return all
}
