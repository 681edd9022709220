package e2e_test

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	dockerclient "github.com/docker/docker/client"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
	claudetest "github.com/omoi-dev/omoi/internal/testkit/claude"
	dockertest "github.com/omoi-dev/omoi/internal/testkit/docker"
	modeltest "github.com/omoi-dev/omoi/internal/testkit/model"
)

// sumTurns write a program, run it, commit and push.
func sumTurns() []modeltest.Turn {
	return []modeltest.Turn{
		{Tools: []modeltest.Tool{claudeBash("echo 'echo $((6*7))' > sum.sh && sh sum.sh")}},
		{Tools: []modeltest.Tool{claudeBash("git add -A && git commit -qm 'Add a sum' && git push -q origin HEAD && sh sum.sh")}, Expect: modeltest.Saying("42")},
		{Text: "The result is {{last_tool_result}}."},
	}
}

// computed holds a task of [sumTurns] to its end.
func (r *rig) computed(made task.Task, repo string) {
	r.t.Helper()
	done := r.ends(made.ID, task.StatusCompleted)
	require.Equal(r.t, 1, done.AttemptCount)
	show := r.run("git", "-C", repo, "show", text(done.Branch)+":sum.sh")
	require.Equal(r.t, "echo $((6*7))\n", show.stdout, show.stderr)
	require.Contains(r.t, string(done.Result), "The result is 42.")
	require.Equal(r.t, 1, r.count(`SELECT count(*) FROM sandbox_events e JOIN sandboxes s ON s.id = e.sandbox_id
		WHERE s.task_id = $1 AND e.event_type = 'agent.file_edited' AND e.event_data ->> 'file_path' = 'sum.sh'`, made.ID))
	require.Contains(r.t, r.omoi("transcript", made.ID).stdout, "The result is 42.")
	r.noLeaks()
}

// TestClaudeInAContainer has Claude Code in its image; one without it ends in a clear text.
func TestClaudeInAContainer(t *testing.T) {
	t.Parallel()
	program := claudetest.Install(t, claudetest.Versions()[1])
	engine, client := startEngine(t)
	settings := dockerSettings(t, engine)
	settings["OMOI_DOCKER_NETWORK"] = "host" // where the model is
	r := newRig(t, settings).up()
	repo := r.repo()
	lacks := r.ends(r.byClaude(repo, modeltest.New(t), nil, inDocker, retries(0)).ID, task.StatusFailed)
	require.Equal(t, task.ClassInvalidInput, lacks.FailureClass)
	require.Contains(t, text(lacks.ErrorMessage), "the sandbox has no program claude. Next: install it in the setup step of the project")

	r.stop("worker")
	r.env["OMOI_DOCKER_IMAGE"] = imageWith(t, client, program)
	r.startWorker()
	r.computed(r.byClaude(repo, modeltest.New(t, sumTurns()...), nil, inDocker), repo)
	r.engineIsEmpty(client)
}

// imageWith is the image of tests with the program in it, and with the libraries that it needs.
func imageWith(t *testing.T, client *dockerclient.Client, program string) string {
	t.Helper()
	const name = "omoi-test-claude:latest"
	ctx := context.Background()
	made, err := client.ContainerCreate(ctx, &container.Config{Image: dockertest.Image, Cmd: []string{"true"}}, nil, nil, nil, "")
	require.NoError(t, err)
	out, in := io.Pipe()
	go func() { _ = in.CloseWithError(pack(in, program)) }()
	require.NoError(t, client.CopyToContainer(ctx, made.ID, "/", out, container.CopyToContainerOptions{}))
	_, err = client.ContainerCommit(ctx, made.ID, container.CommitOptions{Reference: name})
	require.NoError(t, err)
	require.NoError(t, client.ContainerRemove(ctx, made.ID, container.RemoveOptions{Force: true}))
	return name
}

func pack(to io.Writer, program string) error {
	needs, err := exec.Command("ldd", program).Output()
	if err != nil {
		return fmt.Errorf("list the libraries of %s: %w", program, err)
	}
	w, files := tar.NewWriter(to), map[string]string{"usr/bin/claude": program}
	for field := range strings.FieldsSeq(string(needs)) {
		if strings.HasPrefix(field, "/") {
			files[field[1:]] = field
		}
	}
	for name, path := range files {
		if err := packFile(w, name, path); err != nil {
			return err
		}
	}
	return w.Close()
}

func packFile(w *tar.Writer, name, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(w, file)
	return err
}

// TestClaudeInDaytona gets Claude Code by the setup step of the task.
func TestClaudeInDaytona(t *testing.T) {
	t.Parallel()
	program := claudetest.Install(t, claudetest.Versions()[0])
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skipf("SKIPPED: the setup step of this test needs curl: %v", err)
	}
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, program) }))
	t.Cleanup(files.Close)
	r, cloud := daytonaRig(t)
	repo := r.repo()
	setup := fmt.Sprintf("mkdir -p ~/.local/bin && curl -fsS %s/claude -o ~/.local/bin/claude && chmod +x ~/.local/bin/claude", files.URL)
	r.computed(r.byClaude(repo, modeltest.New(t, sumTurns()...), map[string]any{"setup": setup}, inDaytona), repo)
	require.Empty(t, cloud.Boxes())
}
