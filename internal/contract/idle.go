package contract

import "strings"

// IdleCode begins the note of a schedule that omoi paused because nothing is left to do.
const IdleCode = "[omoi:idle]"

// NoteIdle is the note with which omoi pauses an idle schedule.
const NoteIdle = IdleCode + " all tasks are final and all sandboxes are verified deleted"

// PausedIdle reports whether omoi paused the schedule that has this note. An operator paused a schedule with any other note.
func PausedIdle(note string) bool { return strings.HasPrefix(note, IdleCode) }
