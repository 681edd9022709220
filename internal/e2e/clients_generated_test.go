package e2e_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The module of generated.go, with the version of the package that oapi-codegen's code needs.
const generatedModule = "module example.com/generated\n\ngo 1.26.0\n\nrequire github.com/oapi-codegen/runtime v1.9.0\n"

// TestClients_Generated generates clients from the document that a server shows, and runs a task by each.
func TestClients_Generated(t *testing.T) {
	t.Parallel()
	if os.Getenv("OMOI_TEST_GENERATORS") == "" {
		t.Skip("SKIPPED: the generators are not installed; make clients-test installs them")
	}
	r := newRig(t, nil).up()
	r.env["OMOI_TEST_REPO"] = r.repo()
	for name, generated := range map[string]func(*rig, string) string{"go": (*rig).generateGo, "python": (*rig).generatePython} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := generated(r, t.TempDir())
			require.Contains(t, said, " agent.started\n")
			require.Contains(t, said, " agent.completed\nsuccess true\n")
			require.Contains(t, said, "\ncompleted\n")
		})
	}
}

func (r *rig) generateGo(dir string) string {
	r.t.Helper()
	r.document("openapi-3.0.json", dir) // oapi-codegen reads no other version
	require.NoError(r.t, os.Mkdir(filepath.Join(dir, "omoi"), 0o755))
	require.NoError(r.t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(generatedModule), 0o600))
	r.copyIn("generated.go", dir)
	r.build(dir, os.Getenv("OMOI_TEST_GENERATORS")+"/oapi-codegen", "-generate", "types,client", "-package", "omoi",
		"-o", "omoi/client.go", "openapi-3.0.json")
	r.build(dir, "go", "mod", "tidy")
	return r.build(dir, "go", "run", ".")
}

func (r *rig) generatePython(dir string) string {
	r.t.Helper()
	r.document("openapi.json", dir)
	r.copyIn("generated.py", dir)
	tools := os.Getenv("OMOI_TEST_GENERATORS")
	r.build(dir, tools+"/openapi-python-client", "generate", "--path", "openapi.json", "--meta", "none", "--output-path", "omoi_client")
	return r.build(dir, tools+"/python", "generated.py")
}

// TestClients_LibraryInAnotherModule runs a task by the package api/client in a module of its own.
func TestClients_LibraryInAnotherModule(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	dir := t.TempDir()
	// The requirements are those of the tree, so that nothing is downloaded.
	own := "module example.com/outside\n\nrequire github.com/omoi-dev/omoi v0.0.0\n\nreplace github.com/omoi-dev/omoi => " + root + "\n" +
		string(module[len("module github.com/omoi-dev/omoi\n"):])
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(own), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600))
	r := newRig(t, nil).up()
	r.env["OMOI_TEST_REPO"] = r.repo()
	r.copyIn("library.go", dir)
	said := r.build(dir, "go", "run", "-mod=mod", ".")
	require.Contains(t, said, " agent.completed\n")
	require.Contains(t, said, "\ncompleted\n")
}

// document writes the OpenAPI document that the server shows.
func (r *rig) document(name, dir string) {
	r.t.Helper()
	res, err := http.Get(r.env["OMOI_API_URL"] + "/api/v1/" + name)
	require.NoError(r.t, err)
	defer func() { _ = res.Body.Close() }()
	content, err := io.ReadAll(res.Body)
	require.NoError(r.t, err)
	require.Equal(r.t, http.StatusOK, res.StatusCode)
	require.NoError(r.t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
}

func (r *rig) copyIn(name, dir string) {
	r.t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "clients", name))
	require.NoError(r.t, err)
	require.NoError(r.t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
}

// build runs a command that may compile much, and returns what it printed.
func (r *rig) build(dir, name string, args ...string) string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "OMOI_API_URL="+r.env["OMOI_API_URL"], "OMOI_TEST_REPO="+r.env["OMOI_TEST_REPO"])
	said, err := cmd.CombinedOutput()
	require.NoError(r.t, err, "%s %v: %s", name, args, said)
	return string(said)
}
