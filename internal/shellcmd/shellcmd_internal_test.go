package shellcmd

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"cd x && FOO=1 timeout 60 go test ./... 2>&1 | tail -3":      {"cd x", "go test ./...", "tail -3"},
		"if ! git diff --quiet; then git 'commit' -m \"a && b\"; fi": {"git diff --quiet", "git commit -m a && b"},
		`bash -lc "cd x; git push --force"`:                          {"cd x", "git push --force"},
		`sudo -u deploy sh -c 'echo "$(git push)"'`:                  {"echo $", "git push"},
		`bash -e -c ls; bash -euo pipefail -c "cd x; git push"`:      {"ls", "cd x", "git push"},
		`bash -o pipefail -c ls; sh +x -cx ls; sh -c -e ls a`:        {"ls", "ls", "ls"},
		`bash --norc --rcfile a -O extglob -c -- ls; bash -oc x ls`:  {"ls", "ls"},
		`bash -e a.sh -c ls; bash -o ec x; bash -c; bash --x ls -c`:  {"bash -e a.sh -c ls", "bash -o ec x", "bash -c", "bash --x ls -c"},
		"for i in 1 2; do\n  curl -s \"localhost:$i\" &\ndone":       {"curl -s localhost:$"},
		"cat > a.sh <<'E'\ngit push --force\nE\nls":                  {"cat", "ls"},
		"timeout -k 5 -s KILL $T nice -n 10 make":                    {"make"},
		"env -u HOME A=b nohup time xargs -n 1 rm":                   {"rm"},
		"git -c user.name=\"A B\" commit":                            {"git -c user.name=A B commit"},
		`(\rm -r a\ b)`:                                              {"rm -r a b"},
		"uv run -q git push; eval 'git pull --force'":                {"git push", "git pull --force"},
		`find . -name '*.go' -exec rm {} \;`:                         {"rm {} ;"},
		"timeout 60":                                                 {"timeout 60"},
		`rm -r "$HOME/x" $HOME/y ${HOME} ${HOME%/*} ~/z`:             {"rm -r $HOME/x $HOME/y $HOME $ ~/z"},
		`rm -r "~" '~/x' \~ '$HOME' a~`:                              {"rm -r ./~ ./~/x ./~ $ a~"},
		"command -v docker || command -pV git; command docker ps":    {"command -v docker", "command -pV git", "docker ps"},
		`HOME=$(mktemp -d) sh -c 'rm -r "$HOME/x"'; rm -r ~ a`:       {"rm -r $/x", "mktemp -d", "rm -r $ a"},
		`JAVA_HOME=/opt/java rm -r "$HOME/x"`:                        {"rm -r $HOME/x"},
		"A=1":                                                        nil,
		"echo 'open":                                                 nil,
		"if then":                                                    nil,
		"git push --force; echo $(":                                  nil,
		"ls" + strings.Repeat(" ", maxParsed):                        nil,
		strings.Repeat("ls;", maxCommands+1):                         nil,
		strings.Repeat("sudo ", maxParsed/6) + "ls":                  {"ls"},
	} {
		var got []string
		for _, c := range In(text) {
			got = append(got, strings.Join(c.Words, " "))
		}
		require.Equal(t, want, got, text)
	}
}

// An agent can send any text.
func TestIn_DeeplyNested(t *testing.T) {
	t.Parallel()
	for _, open := range []string{"(", "$(", "\"$(", "{ ", "((", "$((", "`", "if (", "${a-", "[[ (", "<(", "a() {", "sh -c \"", "sudo ", "eval ", "eval time "} {
		In(strings.Repeat(open, maxParsed/len(open)))
	}
	require.NotNil(t, In(strings.Repeat("( ", maxParsed/4)+"ls"+strings.Repeat(")", maxParsed/4)))
}

func TestOneOf(t *testing.T) {
	t.Parallel()
	names := []string{"git push --force", "terraform apply", "sudo rm", "uv run alembic", "npm publish"}
	for _, line := range []string{
		"git push --force", "timeout 60 git push --force", "timeout -k 5 --signal=KILL 1m git push --force origin HEAD", "sudo git push --force",
		"env -u HOME GIT_SSH=x git push --force", "nice -n 10 git push --force", "nohup git push --force &", "FOO=1 git push --force",
		"cd infra && FOO=1 timeout 60 nice terraform apply", "/usr/bin/env terraform apply", "sudo -u deploy -E terraform apply",
		"git push origin HEAD --force", "git -C x push --force", "(cd x; sh -c 'git push --force')", "out=$(terraform apply)", "env A=b sudo -n rm x",
		"uv run -q alembic upgrade", "npm publish -exec x",
	} {
		require.NotEmpty(t, OneOf(In(line), names...), line)
	}
	for _, line := range []string{
		"timeout 60 git push", "echo timeout 60 git push --force", "timeout 60 echo terraform apply", "timeout", "nice -n", "FOO=1", "git log",
		"git commit -m 'no; git push --force'", "cat <<E\nterraform apply\nE", "sudo ls", "git push --force; echo 'open",
	} {
		require.Empty(t, OneOf(In(line), names...), line)
	}
	require.Equal(t, "sudo", OneOf(In("FOO=1 sudo ls"), "sudo"))
}

func TestLine(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{{"git", "commit", "-m", "a\n\ngit push --force"}, {"echo", "it's\ta", "'"}, {"a b", "$HOME", ""}} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\0' `+Line(words...)).Output()
		require.NoError(t, err)
		require.Equal(t, strings.Join(words, "\x00")+"\x00", string(out))
	}
}
