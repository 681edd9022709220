package activities

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/savedwork"
	"github.com/omoi-dev/omoi/internal/task"
)

// maxKeptBundle is the largest bundle that is stored where the repository takes it under no name: GitHub's own limit for
// one file, and some more.
const maxKeptBundle = 128 << 20

// errTooLarge is of a file in a sandbox that is not read to its end.
var errTooLarge = errors.New("larger than allowed")

// keepBundle stores the bundle as a text and answers its id. It passes through a file, since it is too large to be held in
// memory, and no statement of the store waits for a sandbox.
func (a *Activities) keepBundle(ctx context.Context, p place) (id string, err error) {
	spool, err := nameless()
	if err != nil {
		return "", fmt.Errorf("make room for a bundle: %w", err)
	}
	defer spool.Close() //nolint:errcheck // what it held is stored, or not needed
	encoder := base64.NewEncoder(base64.StdEncoding, spool)
	err = a.file(ctx, p, agentconfig.OutBundle, max(a.cfg.MaxPatchBytes, maxKeptBundle), func(r io.Reader) error {
		_, err := io.Copy(encoder, r)
		return err
	})
	if err == nil {
		err = encoder.Close()
	}
	if err == nil {
		_, err = spool.Seek(0, io.SeekStart)
	}
	if err != nil {
		return "", err
	}
	if id, err = a.deps.Texts.SaveBase64(ctx, p.row.TaskID, savedwork.TextBundle, spool); err != nil {
		return "", fmt.Errorf("store %s: %w", savedwork.TextBundle, err)
	}
	return id, nil
}

// nameless is a file that ends with this process.
func nameless() (*os.File, error) {
	f, err := os.CreateTemp("", "omoi-work-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// keepPatch stores the patch as a text. Of one that is too long its first files are kept.
func (a *Activities) keepPatch(ctx context.Context, p place, out task.Salvage) (task.Salvage, error) {
	content, cut, err := a.patchOf(ctx, p)
	if err != nil {
		return out, err
	}
	if cut {
		whole, limit := headers(content), a.cfg.MaxPatchBytes>>20
		if whole == 0 {
			return lost(out, fmt.Sprintf("The first changed file alone makes a patch of more than %d MiB, which is not kept.", limit)), nil
		}
		out.Notes = append(out.Notes, fmt.Sprintf("The patch is longer than %d MiB: only its first files, %d of them, are kept.", limit, whole))
	}
	kind, text := asText(content)
	if out.Ref, err = a.deps.Texts.SaveText(ctx, p.row.TaskID, kind, text); err != nil {
		return out, fmt.Errorf("store %s: %w", kind, err)
	}
	out.Kind = task.SalvagePatch
	return out, nil
}

// patchOf reads the patch, or the files of it that are whole within its limit.
func (a *Activities) patchOf(ctx context.Context, p place) (content []byte, cut bool, err error) {
	f, err := p.provider.ReadFile(ctx, p.labels, agentconfig.OutPatch)
	if err != nil {
		return nil, false, fmt.Errorf("open %s in the sandbox: %w", agentconfig.OutPatch, err)
	}
	defer f.Close() //nolint:errcheck // read only
	content, err = io.ReadAll(io.LimitReader(f, a.cfg.MaxPatchBytes+1))
	if err != nil || int64(len(content)) <= a.cfg.MaxPatchBytes {
		return content, false, err
	}
	return content[:bytes.LastIndex(content, []byte("\n"+patchHeader))+1], true, nil
}

// patchHeader begins each file of a patch. No other line of one begins so.
const patchHeader = "diff --git "

func headers(patch []byte) int {
	n := bytes.Count(patch, []byte("\n"+patchHeader))
	if bytes.HasPrefix(patch, []byte(patchHeader)) {
		n++
	}
	return n
}

// asText makes a patch fit for a text column: binary content becomes base64, and its kind says so.
func asText(content []byte) (kind, text string) {
	if utf8.Valid(content) && !bytes.ContainsRune(content, 0) {
		return savedwork.TextPatch, string(content)
	}
	return savedwork.TextPatchBase64, base64.StdEncoding.EncodeToString(content)
}

// lost says of work that could be read why it is not kept all the same.
func lost(out task.Salvage, why string) task.Salvage {
	since := time.Now().UTC()
	out.Kind, out.LostSince, out.Notes = task.SalvageLost, &since, append(out.Notes, why)
	return out
}

// keptWork reads stored work piece by piece.
type keptWork struct {
	piece func(n int) ([]byte, error)
	next  int
	left  []byte
	err   error // of the store
}

// Read gives what is left of a piece, and asks for the next one then.
func (k *keptWork) Read(b []byte) (int, error) {
	if len(k.left) == 0 {
		if k.left, k.err = k.piece(k.next); k.err != nil {
			return 0, k.err
		}
		if k.next++; len(k.left) == 0 {
			return 0, io.EOF
		}
	}
	n := copy(b, k.left)
	k.left = k.left[n:]
	return n, nil
}
