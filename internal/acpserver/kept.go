package acpserver

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"

	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/task"
)

// kept is what the file of a session holds, so that another process can load it. Only the process that holds the session writes it; see
// [session.hold].
type kept struct {
	Cwd     string   `json:"cwd"`
	Tasks   []string `json:"tasks"`   // the last one is open, or ended last
	Prompts int      `json:"prompts"` // prompts that reached a task
	Open    *prompt  `json:"open"`    // prompt for which the server may have created the first task
}

// sessionID matches IDs of sessions and tasks, and keys of tasks. It keeps names of files within the folder.
var sessionID = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// known returns a session of this process, of an earlier one, or of a task.
func (s *server) known(p params) (*session, error) {
	if one := s.sessions[p.SessionID]; one != nil {
		return one, nil
	}
	if !sessionID.MatchString(p.SessionID) {
		return nil, errNoSession
	}
	k, err := s.readKept(p.SessionID)
	if errors.Is(err, fs.ErrNotExist) {
		k, err = kept{Tasks: []string{p.SessionID}}, nil
	}
	if err != nil {
		return nil, err
	}
	k.Cwd = cmp.Or(p.Folder, k.Cwd)
	return s.session(p.SessionID, k), nil
}

func (s *server) file(id, kind string) string { return filepath.Join(s.Folder, id+kind) }

// readKept reads the file of a session. [fs.ErrNotExist] if there is none.
func (s *server) readKept(id string) (k kept, err error) {
	path := s.file(id, ".json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err == nil && (k.Cwd == "" || slices.ContainsFunc(k.Tasks, func(t string) bool { return !sessionID.MatchString(t) })) {
		err = errors.New("it lacks the folder, or has an ID that no task can have")
	}
	if err != nil {
		return k, task.Errorf(task.CodeInternal, "The file %s of this session cannot be read: %v. Next: omoi ps, and open the conversation of its task by the task's ID", path, err)
	}
	return k, nil
}

func (s *session) save() error {
	if err := os.MkdirAll(s.Folder, 0o700); err != nil {
		return err
	}
	return statefile.Save(s.file(s.id, ".json"), s.kept)
}

// keep saves a session after a request that has reached the server, so that a failure does not end the turn.
func (s *session) keep() {
	if err := s.save(); err != nil {
		s.Note("omoi acp: save session %s failed: %v", s.id, err)
	}
}

// hold keeps other processes from giving prompts to the session, and takes over what they kept. The kernel ends it with the process.
// [task.CodeConflict] while another process holds the session.
func (s *session) hold() error {
	if s.held != nil {
		return nil
	}
	if err := os.MkdirAll(s.Folder, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(s.file(s.id, ".lock"), os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return fmt.Errorf("lock session %s: %w", s.id, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return task.Errorf(task.CodeConflict, "Another editor works in this session, and yours was not sent. Next: send it again when "+
			"that one has ended or was stopped, or omoi send %s \"<text>\"", cmp.Or(s.task(), "<task>")).WithCause(err)
	}
	s.held = f
	s.takeOver()
	return nil
}

// release lets other processes give prompts to the session.
func (s *session) release() {
	if s.held != nil {
		_ = s.held.Close()
		s.held = nil
	}
}

// takeOver takes what another process kept. A file that cannot be read, or could not be written here, knows less than this process.
func (s *session) takeOver() {
	k, err := s.readKept(s.id)
	if err != nil || k.Prompts < s.Prompts || len(k.Tasks) < len(s.Tasks) {
		return
	}
	before := s.task()
	s.Tasks, s.Prompts, s.Open = k.Tasks, k.Prompts, k.Open
	if s.task() != before {
		s.restart()
	}
}
