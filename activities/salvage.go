package activities

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"go.temporal.io/sdk/activity"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/savedwork"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// Salvage keeps what would be lost with the sandbox: commits that were not pushed and changes
// that were not committed. It is asked on every kind of end and answers what it saved before.
// While the sandbox cannot be asked it fails and is tried again.
func (a *Activities) Salvage(ctx context.Context, in contract.SandboxRef) (contract.SalvageResult, error) {
	at, stop := beating[collectPoint](ctx)
	defer stop()
	p, err := a.here(ctx, in.SandboxID)
	if err != nil {
		return contract.SalvageResult{}, err
	}
	if done := p.row.Salvage; done != nil {
		return contract.SalvageResult{Kind: done.Kind, Files: done.Files}, nil
	}
	saved, err := a.salvage(ctx, p, at)
	if err != nil {
		return contract.SalvageResult{}, ofSandbox(err)
	}
	return contract.SalvageResult{Kind: saved.Kind, Files: saved.Files}, a.deps.Ledger.SaveSalvage(ctx, in.SandboxID, saved)
}

// salvage stops what runs, gathers and keeps. Where no agent ever ran there is no work.
func (a *Activities) salvage(ctx context.Context, p place, at *progress[collectPoint]) (task.Salvage, error) {
	none := task.Salvage{Kind: task.SalvageNone}
	if !p.exec() {
		return none, nil
	}
	seen, err := p.inspect(ctx)
	if err != nil {
		return none, err
	}
	ran := seen.Started || p.row.StartedAt != nil || p.row.Head > 0
	switch {
	case !ran:
		return none, nil
	case seen.State == sandbox.StateGone, p.row.TaskID == "": // without its task there is no place for its work
		since := a.lastContact(ctx, p.row)
		return task.Salvage{Kind: task.SalvageLost, LostSince: &since}, nil
	}
	work, err := a.deps.Tasks.Work(ctx, p.row.TaskID)
	if err != nil {
		return none, fmt.Errorf("read task %s: %w", p.row.TaskID, err)
	}
	if task.RuntimeOf(work.Agent).SelfConnecting {
		return none, nil
	}
	if err := a.quiet(ctx, p, at); err != nil {
		return none, err
	}
	got, err := a.gather(ctx, p, work, at)
	if err != nil {
		return none, err
	}
	return a.save(ctx, p, work, got)
}

// quiet ends the agent, so that what is gathered does not change any more.
func (a *Activities) quiet(ctx context.Context, p place, at *progress[collectPoint]) error {
	if at.get().Stopped {
		return nil
	}
	if err := a.halt(ctx, p); err != nil {
		return err
	}
	at.set(collectPoint{Stopped: true})
	return nil
}

// save keeps gathered work: commits on the task's branch, changes under a rescue ref, and
// what no repository takes as a text.
func (a *Activities) save(ctx context.Context, p place, work task.Work, got agentconfig.Collected) (task.Salvage, error) {
	out := task.Salvage{Kind: task.SalvageNone, Files: max(got.Files, 0), Bytes: max(got.Bytes, 0), Notes: got.Notes}
	if got.Bundle != "" && work.Repo != "" {
		ref, err := a.bringHome(ctx, p, work, got)
		if err != nil {
			return a.fallback(ctx, p, got, out, err)
		}
		if ref != "" {
			out.Kind, out.Ref, out.Head = task.SalvageRef, ref, unpushed(got)
		}
	}
	if got.Patch == "" || out.Kind == task.SalvageRef {
		return out, nil
	}
	return a.keepPatch(ctx, p, out)
}

// bringHome brings commits to the branch, where this is the newest attempt and nobody else
// moved the branch; those and everything uncommitted to a rescue ref else.
func (a *Activities) bringHome(ctx context.Context, p place, work task.Work, got agentconfig.Collected) (ref string, err error) {
	rescue := got.Rescue != ""
	if got.Commits > 0 && !untouched(work, got) {
		pushed, err := a.pushNewest(ctx, p, work)
		if err != nil {
			return "", err
		}
		rescue = rescue || !pushed
	}
	if !rescue {
		return "", nil
	}
	host, err := a.host(work)
	if err != nil {
		return "", err
	}
	name := work.TaskID + "/" + strconv.Itoa(p.row.Attempt)
	err = a.bundle(ctx, p, func(r io.Reader) error {
		ref, err = host.Rescue(ctx, scm.Repo(work.Repo), name, r)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("rescue work as %s: %w", name, err)
	}
	return ref, nil
}

// unpushed is the commit that the branch should have come to; empty if it holds all.
func unpushed(got agentconfig.Collected) string {
	if got.Commits == 0 {
		return ""
	}
	return got.Head
}

// untouched reports whether a validator has left the branch as it found it.
func untouched(work task.Work, got agentconfig.Collected) bool {
	return work.Validates && got.Head != "" && got.Head == work.WorkHead
}

// pushNewest pushes for the newest attempt only: a later one stands on the branch as it is,
// and must not find it moved. A validator moves no branch: what it changed is not the work that it
// judged. It reports whether the branch holds the commits.
func (a *Activities) pushNewest(ctx context.Context, p place, work task.Work) (bool, error) {
	if p.row.Attempt < work.Attempt || work.Validates {
		return false, nil
	}
	head, err := a.push(ctx, p, work)
	if task.CodeOf(err) == task.CodeConflict {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("push %s: %w", work.Branch, err)
	}
	return true, a.saveHead(ctx, p, work, head)
}

// fallback keeps the bundle itself when the repository does not take it: at once if it never
// will, else in the second half of the window.
func (a *Activities) fallback(ctx context.Context, p place, got agentconfig.Collected, out task.Salvage, cause error) (task.Salvage, error) {
	if ctx.Err() != nil || (!final(codeOf(cause)) && waited(ctx)+task.AfterOf(cause) < a.cfg.SalvageWindow/2) {
		return out, cause
	}
	a.log.WarnContext(ctx, "push saved work failed", slog.String("sandbox_id", p.row.ID), slog.String("error", a.brief(cause.Error())))
	ref, err := a.keepBundle(ctx, p)
	if errors.Is(err, errTooLarge) {
		return lost(out, fmt.Sprintf("The repository rejects the work under any ref, and omoi stores at most %d MiB elsewhere.", maxKeptBundle>>20)), nil
	}
	if err != nil {
		return out, fmt.Errorf("keep bundle: %w", err)
	}
	out.Kind, out.Ref, out.Head = task.SalvagePatch, ref, unpushed(got)
	return out, nil
}

// lastContact is when a sandbox was last heard of, as far as the store can say.
func (a *Activities) lastContact(ctx context.Context, row task.Sandbox) time.Time {
	if pulse, err := a.deps.Ledger.Pulse(ctx, row.ID, 0); err == nil && pulse.Beat >= 0 {
		return time.Now().Add(-pulse.Beat).UTC()
	}
	if row.StartedAt != nil {
		return *row.StartedAt
	}
	return row.CreatedAt
}

// waited is how long an activity has been asked for, over all of its tries.
func waited(ctx context.Context) time.Duration {
	info := activity.GetInfo(ctx)
	return info.StartedTime.Sub(info.ScheduledTime)
}

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
		return "", fmt.Errorf("create temporary folder for a bundle: %w", err)
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
