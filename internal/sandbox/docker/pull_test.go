//go:build linux

package docker_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/image"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// registry serves one image with one empty layer, under any name.
type registry struct {
	manifest []byte
	blobs    map[string][]byte
}

const (
	typeManifest = "application/vnd.docker.distribution.manifest.v2+json"
	typeConfig   = "application/vnd.docker.container.image.v1+json"
	typeLayer    = "application/vnd.docker.image.rootfs.diff.tar"
)

func newRegistry(t *testing.T) *registry {
	t.Helper()
	r := &registry{blobs: make(map[string][]byte)}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "etc/", Mode: 0o755}))
	require.NoError(t, w.Close())
	content := r.add(typeLayer, layer.Bytes())
	config, err := json.Marshal(map[string]any{
		"os": "linux", "architecture": runtime.GOARCH, "config": map[string]any{},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []any{content["digest"]}},
	})
	require.NoError(t, err)
	r.manifest, err = json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": typeManifest, "config": r.add(typeConfig, config), "layers": []any{content},
	})
	require.NoError(t, err)
	return r
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (r *registry) add(kind string, content []byte) map[string]any {
	r.blobs[digest(content)] = content
	return map[string]any{"mediaType": kind, "size": len(content), "digest": digest(content)}
}

func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	content, found := r.blobs[path.Base(req.URL.Path)]
	if strings.Contains(req.URL.Path, "/manifests/") {
		content, found = r.manifest, true
		w.Header().Set("Content-Type", typeManifest)
		w.Header().Set("Docker-Content-Digest", digest(content))
	}
	if !found && req.URL.Path != "/v2/" {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	if req.Method != http.MethodHead {
		_, _ = w.Write(content)
	}
}

// TestEnsure_PullsImage pulls an image that has no shell: Ensure returns an error before a start.
func TestEnsure_PullsImage(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	server := httptest.NewServer(newRegistry(t))
	t.Cleanup(server.Close)
	b.cfg.NoPull = false
	b.cfg.Image = strings.TrimPrefix(server.URL, "http://") + "/sandbox:latest"
	p, labels := b.open(t), b.labels()
	_, err := p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
	require.Equal(t, task.CodeInvalid, task.CodeOf(err))
	require.ErrorContains(t, err, "no /bin/sh")
	_, there, err := p.HasImage(t.Context())
	require.NoError(t, err)
	require.True(t, there)
	require.NoError(t, p.Delete(t.Context(), labels))
	_, err = b.client(t).ImageRemove(t.Context(), b.cfg.Image, image.RemoveOptions{})
	require.NoError(t, err)
}
