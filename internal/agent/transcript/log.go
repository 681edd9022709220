package transcript

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

const maxLog = 64 << 20 // further entries are dropped

// Log is a transcript that a runtime writes itself, one JSON line for each entry. The first entry creates the file.
type Log struct {
	Path string

	file *os.File
	size int64
}

// Note appends an entry. If the write fails, the entry is lost.
func (l *Log) Note(entry any) {
	line, err := json.Marshal(entry)
	if err != nil || l.size > maxLog || !l.open() {
		return
	}
	n, _ := l.file.Write(append(line, '\n'))
	l.size += int64(n)
}

func (l *Log) open() bool {
	if l.file != nil {
		return true
	}
	file, err := os.OpenFile(l.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	l.file = file
	if info, err := file.Stat(); err == nil {
		l.size = info.Size()
	}
	return true
}

// Close closes the file.
func (l *Log) Close() {
	if l.file != nil {
		_ = l.file.Close()
	}
}

// Recall copies the transcript of an earlier attempt to a file atomically, each line as edit returns it. The last line
// gets a newline.
func Recall(from, to string, edit func(line []byte) []byte) error {
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("open the earlier transcript: %w", err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(eachLine(in, func(line []byte) error {
			_, err := out.Write(edit(line))
			return err
		}), out.Close())
	}
	if err == nil {
		err = os.Rename(to+".new", to)
	}
	if err != nil {
		return fmt.Errorf("copy the earlier transcript: %w", err)
	}
	return nil
}

// eachLine calls do for each line; the last one gets a newline if it has none.
func eachLine(from io.Reader, do func(line []byte) error) error {
	for lines := bufio.NewReader(from); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) > 0 {
			line = append(line, '\n')
		}
		if len(line) > 0 {
			if err := do(line); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
