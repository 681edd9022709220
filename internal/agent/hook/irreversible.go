package hook

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/shellcmd"
)

// irreversible returns why a command is refused for every task; empty: it is not. The list is in docs/CONTRACTS.md.
func (l Limits) irreversible(ctx context.Context, list []shellcmd.Command, dir string) string {
	home := l.below(dir) && !slices.ContainsFunc(list, func(c shellcmd.Command) bool { return c.Words[0] == "cd" && len(c.Words) > 1 && !l.below(c.Words[1]) })
	switch {
	case home && l.Branch != "" && slices.ContainsFunc(list, func(c shellcmd.Command) bool { return l.overwrites(ctx, c, dir) }):
		return "omoi refuses it for every task: a force push to another branch than " + l.Branch + ", or its deletion, cannot be undone."
	case slices.ContainsFunc(list, l.deletes):
		return "omoi refuses it for every task: it deletes the workspace, a home folder or a system folder as a whole."
	case shellcmd.OneOf(list, "gh repo delete", "glab repo delete") != "":
		return "omoi refuses it for every task: the deletion of a repository cannot be undone."
	case sends(list):
		return "omoi refuses it for every task: it sends the environment, which has credentials, to the network."
	}
	return ""
}

var (
	forces = regexp.MustCompile(`^(?:-[dfnquv]*[df][dfnquv]*|--force|--force-with-lease(?:=.*)?|--delete|--mirror)$`)
	tries  = regexp.MustCompile(`^(?:-[dfquv]*n[dfnquv]*|--dry-run)$`)
	// takesValue matches flags of git push before a word of their own.
	takesValue = regexp.MustCompile(`^(?:-o|--push-option|--repo|--receive-pack|--exec)$`)
	local      = regexp.MustCompile(`^(?:[./~$]|file:)`)
)

// overwrites reports whether a command overwrites or deletes another branch than the task's on a remote. A remote that is a
// folder is of the agent.
func (l Limits) overwrites(ctx context.Context, c shellcmd.Command, dir string) bool {
	at := slices.Index(c.Words, "push")
	if c.OneOf("git push") == "" || at < 0 {
		return false
	}
	if flag := slices.Index(c.Words[:at], "-C"); flag >= 0 {
		if !l.below(c.Words[flag+1]) {
			return false
		}
		dir = absolute(dir, c.Words[flag+1])
	}
	force, words := false, []string{}
	for i := at + 1; i < len(c.Words); i++ {
		switch word := c.Words[i]; {
		case tries.MatchString(word):
			return false
		case takesValue.MatchString(word):
			i++
		case forces.MatchString(word):
			force = true
		case !strings.HasPrefix(word, "-"):
			words = append(words, word)
		}
	}
	remote, refs := "origin", []string{}
	if len(words) > 0 {
		remote, refs = words[0], words[1:]
	}
	all := slices.Contains(c.Words, "--mirror") || force && slices.Contains(c.Words, "--all")
	return (all || slices.ContainsFunc(refs, func(ref string) bool { return l.other(ref, force) })) && !isFolder(ctx, remote, dir)
}

// isFolder reports whether a remote of the repository in dir is a folder, for example the remote origin that omoi makes. If Git
// does not answer, the remote is none, and the push is refused.
func isFolder(ctx context.Context, remote, dir string) bool {
	if local.MatchString(remote) {
		return true
	}
	url, err := gitcmd.Git{Dir: dir, Timeout: 2 * time.Second}.Run(ctx, "remote", "get-url", "--push", "--", remote)
	return err == nil && (local.MatchString(url) || !strings.Contains(url, ":"))
}

// other reports whether a refspec overwrites or deletes another branch than the task's. The branch that is checked out counts
// as the task's.
func (l Limits) other(ref string, force bool) bool {
	spec, plus := strings.CutPrefix(ref, "+")
	_, target, two := strings.Cut(spec, ":")
	if !two {
		target = spec
	}
	target = strings.TrimPrefix(target, "refs/heads/")
	return (force || plus || two && strings.HasPrefix(spec, ":")) && target != "" && target != "HEAD" && target != "@" &&
		target != l.Branch && !strings.Contains(target, "$")
}

var system = regexp.MustCompile(`^/(?:bin|boot|dev|etc|home|lib\w*|opt|proc|root|run|sbin|srv|sys|usr|var)?$`)

var recursive = regexp.MustCompile(`^(?:-[a-zA-Z]*[rR][a-zA-Z]*|--recursive)$`)

// deletes reports whether a command deletes the workspace, a home folder or a folder of the system as a whole.
func (l Limits) deletes(c shellcmd.Command) bool {
	return path.Base(c.Words[0]) == "rm" && slices.ContainsFunc(c.Words, recursive.MatchString) &&
		slices.ContainsFunc(c.Words[1:], l.vital)
}

func (l Limits) vital(target string) bool {
	for _, home := range []string{"~", "$HOME"} {
		if rest, ok := strings.CutPrefix(target, home); ok && l.Home != "" && (rest == "" || rest[0] == '/') {
			target = l.Home + rest
		}
	}
	if !path.IsAbs(target) {
		return false
	}
	folder, content := strings.CutSuffix(path.Clean(target), "/*")
	folder = path.Clean("/" + folder)
	return folder == l.Home || system.MatchString(folder) || strings.HasPrefix(l.Workspace, folder+"/") && folder != "/tmp" ||
		folder == l.Workspace && !content
}

// sends reports whether the environment is piped to a program that sends it to the network.
func sends(list []shellcmd.Command) bool {
	printed := false
	for _, c := range list {
		if printed = printed && c.Piped || prints(c); printed && uploads(c) {
			return true
		}
	}
	return false
}

// prints reports whether a command prints the environment.
func prints(c shellcmd.Command) bool {
	name := path.Base(c.Words[0])
	return len(c.Words) == 1 && (name == "env" || name == "printenv")
}

// uploads reports whether a command sends its standard input to the network.
func uploads(c shellcmd.Command) bool {
	if c.Behind("xargs") { // which reads the input itself
		return false
	}
	switch path.Base(c.Words[0]) {
	case "nc", "ncat", "netcat":
		return true
	case "curl":
		return stdin.MatchString(strings.Join(c.Words, " "))
	}
	return false
}

var stdin = regexp.MustCompile(`@-(?: |$)| (?:-T|--upload-file) ?-(?: |$)`)
