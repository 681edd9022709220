// Package testsides checks out the work of an agent and makes the same work with the test side of its base commit, in a sandbox in
// which no agent ran.
package testsides

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/workspace"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

// Prepare checks out the repository and returns the trees of commit.
func Prepare(ctx context.Context, dir, work string, repo *agentconfig.Repo, commit string) (agentconfig.TestSides, error) {
	if repo == nil {
		return agentconfig.TestSides{}, errors.New("the configuration has no repository")
	}
	if err := workspace.Prepare(ctx, dir, work, repo); err != nil {
		return agentconfig.TestSides{}, err
	}
	p := preparing{git: gitcmd.Repository(work), index: filepath.Join(dir, "tests.index")}
	if err := p.trees(ctx, repo.Base, commit); err != nil {
		return agentconfig.TestSides{}, err
	}
	return p.sides, nil
}

type preparing struct {
	git   gitcmd.Git
	index string
	sides agentconfig.TestSides
	back  bytes.Buffer // entries of the index that give the test side of the base commit back
}

func (p *preparing) trees(ctx context.Context, base, commit string) (err error) {
	for name, tree := range map[string]*string{base: &p.sides.Base, commit: &p.sides.Own} {
		if *tree, err = p.git.Run(ctx, "rev-parse", "--verify", "--end-of-options", name+"^{tree}"); err != nil {
			return fmt.Errorf("find commit %s: %w", name, err)
		}
	}
	files, err := p.git.Run(ctx, "ls-tree", "-r", "-z", "--name-only", p.sides.Base)
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(files, "\x00") {
		if taskcontract.Judges(name) {
			p.sides.Tests++
		}
	}
	if err := p.compare(ctx); err != nil {
		return err
	}
	p.sides.WithBase = p.sides.Own
	if p.back.Len() == 0 {
		return nil
	}
	p.sides.WithBase, err = p.mix(ctx)
	return err
}

// compare lists the files of the test side that differ.
func (p *preparing) compare(ctx context.Context) error {
	raw, err := p.git.Run(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", p.sides.Base, p.sides.Own)
	if err != nil {
		return err
	}
	changes := gitcmd.Changes(raw)
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		if !taskcontract.Judges(path) {
			continue
		}
		p.back.WriteString(changes[path].Undo(path))
		if changes[path].OldMode == gitcmd.NoFile {
			p.sides.Added++
			continue
		}
		p.sides.Changed = append(p.sides.Changed, path)
	}
	return nil
}

// mix writes the tree of the work with the test side of the base commit.
func (p *preparing) mix(ctx context.Context) (string, error) {
	git := p.git
	git.Index = p.index
	if _, err := git.Run(ctx, "read-tree", p.sides.Own); err != nil {
		return "", err
	}
	if err := git.Stream(ctx, &p.back, nil, "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	return git.Run(ctx, "write-tree", "--missing-ok")
}
