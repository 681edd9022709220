package client_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
)

// TestNames_NoTypeOfACallIsInternalOnly fails if a caller cannot name a type that a call takes, returns or holds.
func TestNames_NoTypeOfACallIsInternalOnly(t *testing.T) {
	t.Parallel()
	named, missing := aliases(t), map[string]bool{}
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(of reflect.Type) {
		if seen[of] {
			return
		}
		seen[of] = true
		name, _, _ := strings.Cut(of.String(), "[")
		if _, internal, found := strings.Cut(of.PkgPath(), "omoi/internal/"); found && !named[name] {
			missing[internal+" "+name] = true
		}
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			visit(of.Elem())
		case reflect.Struct:
			for field := range of.Fields() {
				if field.IsExported() {
					visit(field.Type)
				}
			}
		default:
		}
	}
	for call := range reflect.TypeFor[*client.Client]().Methods() {
		for in := range call.Type.Ins() {
			visit(in)
		}
		for out := range call.Type.Outs() {
			visit(out)
		}
	}
	visit(reflect.TypeFor[client.Error]())
	require.Greater(t, len(seen), 100)
	require.Empty(t, missing)
}

// aliases returns the types of other packages that the package names, for example task.Task.
func aliases(t *testing.T) map[string]bool {
	t.Helper()
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	named := map[string]bool{}
	for _, entry := range files {
		if !strings.HasSuffix(entry.Name(), ".go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if of, selects := specType(spec, ok).(*ast.SelectorExpr); selects && spec.Assign.IsValid() && spec.Name.IsExported() {
				named[of.X.(*ast.Ident).Name+"."+of.Sel.Name] = true
			}
			return true
		})
	}
	return named
}

func specType(spec *ast.TypeSpec, ok bool) ast.Expr {
	if !ok {
		return nil
	}
	return spec.Type
}
