package checkpoints

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/checkpoint"
)

const headsRefs = "refs/heads/"

// ErrUnavailable reports that the API does not send a pack now, so that nothing is known of its checkpoint.
var ErrUnavailable = errors.New("its pack cannot be downloaded now")

var errNoSegment = errors.New("there is no checkpoint")

// fetchWait limits the download of the packs of a segment.
const fetchWait = 15 * time.Minute

// Restorer restores a checkpoint of an earlier attempt into a new workspace.
type Restorer struct {
	// From is the checkpoint that is restored. Older is why the newer ones are not; nil: there are none.
	From  checkpoint.Checkpoint
	Older error
	// Newer are paths that changed after the position in the transcript, at most 50, and Others is the number of
	// further ones.
	Newer  []string
	Others int
	// Former are earlier names of the task's branch. Renamed is the one that the branch has in the checkpoint; empty: it has
	// its present name.
	Former  []string
	Renamed string

	line   *apiclient.Client
	dir    string                    // folder of the packs
	rest   [][]checkpoint.Checkpoint // segments that were not tried
	packs  []checkpoint.Checkpoint   // of the segment that is tried
	branch string                    // present name of a renamed branch
}

// Fetch downloads the packs of the newest segment whose keyframe is complete, up to the first missing or damaged pack. The error
// is the reason why no checkpoint can be restored; [ErrUnavailable]: none can be restored now.
func Fetch(ctx context.Context, line *apiclient.Client, dir string, segments [][]checkpoint.Checkpoint) (*Restorer, error) {
	r := &Restorer{line: line, dir: filepath.Join(dir, "restore"), rest: segments}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return nil, fmt.Errorf("create folder for packs: %w", err)
	}
	if err := r.next(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// next downloads the packs of the next segment, as Fetch does.
func (r *Restorer) next(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	for r.packs = nil; len(r.packs) == 0; {
		if len(r.rest) == 0 {
			return cmp.Or(r.Older, errNoSegment)
		}
		for _, c := range r.rest[0] {
			err := r.fetch(ctx, c)
			if errors.Is(err, ErrUnavailable) {
				return fmt.Errorf("checkpoint %s: %w", c.ID, err)
			}
			if err != nil {
				r.Older = errors.Join(r.Older, fmt.Errorf("checkpoint %s: %w", c.ID, err))
				break
			}
			r.packs, r.From = append(r.packs, c), c
		}
		r.rest = r.rest[1:]
	}
	return nil
}

func (r *Restorer) path(c checkpoint.Checkpoint) string { return filepath.Join(r.dir, c.ID+".pack") }

// maxBreaks is how many times the download of a pack may break off. The API breaks it off if a part of the pack is missing.
const maxBreaks = 6

// fetch downloads the pack of a checkpoint, unless an earlier start did.
func (r *Restorer) fetch(ctx context.Context, c checkpoint.Checkpoint) error {
	if c.PackBytes == 0 || whole(r.path(c), c) == nil {
		return nil
	}
	breaks := 0
	answer, err := apiclient.Insist(ctx, func() (apiclient.Answer, error) {
		f, err := os.OpenFile(r.path(c), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return apiclient.Answer{}, err
		}
		defer func() { _ = f.Close() }() // the sum shows whether all was written
		answer, err := r.line.Fetch(ctx, "/checkpoints/"+c.ID+"/pack", f)
		if at, _ := f.Seek(0, io.SeekCurrent); err != nil && at > 0 {
			if breaks++; breaks == maxBreaks {
				return apiclient.Answer{Status: http.StatusOK}, nil // the sum shows that it is damaged
			}
		}
		return answer, err
	})
	switch {
	case err != nil && answer.Status != 0:
		return fmt.Errorf("%w: the API answered %d %s", ErrUnavailable, answer.Status, answer.Code)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case answer.Status != http.StatusOK:
		return fmt.Errorf("the API answered %d %s", answer.Status, answer.Code)
	}
	return whole(r.path(c), c)
}

// whole compares a pack with the sum that its checkpoint names.
func whole(path string, c checkpoint.Checkpoint) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open pack: %w", err)
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return fmt.Errorf("read pack: %w", err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != c.PackSHA256 {
		return errors.New("its pack is damaged")
	}
	return nil
}

// Commits unpacks the checkpoint into the workspace's repository, restores its branches and checks out its head. branch
// is the task's branch; empty without a repository. The error is the reason why
// the workspace is not restored.
func (r *Restorer) Commits(ctx context.Context, dir, work, branch string) error {
	git := gitcmd.Repository(work)
	if branch == "" {
		shadow, err := gitcmd.Opening{Dir: filepath.Join(dir, shadowName), Work: work}.Open(ctx)
		if err != nil {
			return err
		}
		git = shadow.Git
	}
	if err := r.unpack(ctx, git); err != nil || branch == "" {
		return err
	}
	refs := r.rename(r.file(ctx, git, refsName), branch)
	if err := notBehind(ctx, git, refs, branch); err != nil {
		return err
	}
	return r.checkout(ctx, git, refs)
}

// unpack reads the packs up to the first unreadable one, and selects the checkpoint before it. If the keyframe is unreadable, unpack
// tries the next segment.
func (r *Restorer) unpack(ctx context.Context, git gitcmd.Git) error {
	for n, c := range r.packs {
		err := r.index(ctx, git, c)
		if err == nil {
			r.From = c
			continue
		}
		r.Older = errors.Join(r.Older, fmt.Errorf("unpack checkpoint %s: %w", c.ID, err))
		if n > 0 {
			break
		}
		if err := r.next(ctx); err != nil {
			return err
		}
		return r.unpack(ctx, git)
	}
	return r.newer(ctx, git)
}

func (r *Restorer) index(ctx context.Context, git gitcmd.Git, c checkpoint.Checkpoint) error {
	if c.PackBytes > 0 {
		f, err := os.Open(r.path(c))
		if err != nil {
			return fmt.Errorf("open pack: %w", err)
		}
		defer func() { _ = f.Close() }()
		if err := Inflates(f, c.Commit); err != nil {
			return err
		}
		if err := indexPack(ctx, git, f); err != nil {
			return err
		}
	}
	if git.Commit(ctx, c.Commit) != c.Commit {
		return errors.New("its commit is missing")
	}
	return nil
}

// indexPack stores the objects of a pack, all of which must have the objects to which they refer. Unlike --strict, Git accepts files that
// it takes for harmful elsewhere, for example .gitattributes with long lines: they were in the workspace before, and git read-tree refuses
// paths outside of it.
func indexPack(ctx context.Context, git gitcmd.Git, pack io.Reader) error {
	err := git.Stream(ctx, pack, nil, "index-pack", "--stdin", "--fix-thin", "--check-self-contained-and-connected")
	if failed, ok := errors.AsType[*gitcmd.Error](err); ok && failed.ExitCode == 1 { // connected, and refers to objects of other packs
		return nil
	}
	return err
}

// Inflates returns an error if the pack of a checkpoint inflates beyond the limits. Inflates reads the pack from its beginning, and
// leaves it there.
func Inflates(pack io.ReadSeeker, commit string) error {
	_, err := pack.Seek(0, io.SeekStart)
	if err == nil {
		err = checkpoint.CheckPack(pack, hex.DecodedLen(len(commit)))
	}
	if err == nil {
		_, err = pack.Seek(0, io.SeekStart)
	}
	return err
}

// newer sets the paths that changed after the position in the transcript, for a checkpoint that was taken after the end
// of the agent.
func (r *Restorer) newer(ctx context.Context, git gitcmd.Git) error {
	if !r.From.FilesOnly || r.From.Base == 0 {
		return nil
	}
	const most = 50
	for _, c := range r.packs {
		if c.Number != r.From.Base {
			continue
		}
		text, err := git.Run(ctx, "diff-tree", "-r", "--name-only", "-z", c.Commit+":"+entryWork, r.From.Commit+":"+entryWork)
		if err != nil {
			return err
		}
		r.Newer = strings.Split(strings.TrimSuffix(text, "\x00"), "\x00")
		r.Others = max(0, len(r.Newer)-most)
		r.Newer = r.Newer[:len(r.Newer)-r.Others]
	}
	return nil
}

// file returns a file of the entry state; empty if it does not exist.
func (r *Restorer) file(ctx context.Context, git gitcmd.Git, name string) string {
	text, _ := git.Run(ctx, "cat-file", "blob", r.From.Commit+":"+entryState+"/"+name)
	return text
}

// rename returns the refs of the checkpoint with the present name of the task's branch.
func (r *Restorer) rename(refs, branch string) string {
	now := headsRefs + branch
	refs += "\n" // of the last line
	for _, name := range r.Former {
		if was := headsRefs + name; !strings.Contains(refs, " "+now+"\n") && strings.Contains(refs, " "+was+"\n") {
			refs = strings.Replace(refs, " "+was+"\n", " "+now+"\n", 1)
			r.Renamed, r.branch = name, branch
			if r.From.HeadRef == was {
				r.From.HeadRef = now
			}
		}
	}
	return refs
}

// notBehind returns an error if the checkpoint's branch lacks commits of the task's current branch.
func notBehind(ctx context.Context, git gitcmd.Git, refs, branch string) error {
	now := git.Commit(ctx, headsRefs+branch)
	for line := range strings.Lines(refs) {
		id, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		if ref != headsRefs+branch || id == now {
			continue
		}
		if _, err := git.Run(ctx, "merge-base", "--is-ancestor", now, id); err != nil {
			return fmt.Errorf("branch %s has commits that the checkpoint lacks", branch)
		}
	}
	return nil
}

// checkout sets branches and head.
func (r *Restorer) checkout(ctx context.Context, git gitcmd.Git, refs string) error {
	var commands strings.Builder
	for line := range strings.Lines(refs) {
		if id, ref, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			fmt.Fprintf(&commands, "update %s %s\n", ref, id)
		}
	}
	if err := git.Stream(ctx, strings.NewReader(commands.String()), nil, "update-ref", "--stdin"); err != nil {
		return err
	}
	var err error
	if r.From.HeadRef != "" {
		_, err = git.Run(ctx, "symbolic-ref", "HEAD", r.From.HeadRef)
	} else if r.From.Head != "" {
		_, err = git.Run(ctx, "update-ref", "--no-deref", "HEAD", r.From.Head)
	}
	if err != nil || r.From.Head == "" {
		return err
	}
	_, err = git.Run(ctx, "reset", "--quiet", "--hard")
	return err
}
