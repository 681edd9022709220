package review

// Point is the files of a task at one moment.
type Point struct {
	Name       string `json:"point" doc:"Name of the point, which stays: base, the number of an attempt, or a checkpoint. Use it for further requests, so that a running agent does not move it."`
	Commit     string `json:"commit" doc:"Git commit of the files, or of the checkpoint. Empty: no files, which is the base of a task without a repository."`
	Checkpoint string `json:"checkpoint" doc:"Checkpoint that has the files, for example 2.14. Empty: the files of commit."`
	Attempt    int    `json:"attempt" doc:"Number of the attempt that left the files. 0: the base, or a checkpoint copied from the task of which this one is a fork."`
	Sequence   int64  `json:"sequence" doc:"Sequence of the event agent.checkpoint in the attempt. 0: not a checkpoint, or a checkpoint without an event."`

	// Final reports that the name always means this commit.
	Final bool `json:"-"`
}

// Compared names the two points of a comparison.
type Compared struct {
	TaskID string `json:"task_id" doc:"Task whose files are compared."`
	From   Point  `json:"from" doc:"Older files, on the left side."`
	To     Point  `json:"to" doc:"Newer files, on the right side."`
}

// Changes lists the files that differ between two points.
type Changes struct {
	Compared

	TotalFiles int          `json:"total_files" doc:"Number of files that differ."`
	Additions  *int         `json:"additions" doc:"Added lines of all files. Null: not counted, because files is truncated."`
	Deletions  *int         `json:"deletions" doc:"Deleted lines of all files. Null: not counted, because files is truncated."`
	Truncated  bool         `json:"truncated" doc:"True: files has only the first 3,000 files that differ."`
	Files      []FileChange `json:"files" nullable:"false" doc:"Files that differ, in order of path."`
}

// FileChange describes one file that differs between two points.
type FileChange struct {
	Path      string  `json:"path" doc:"Path of the file in the newer files; of a deleted file in the older ones. Bytes that are not UTF-8 are U+FFFD."`
	OldPath   *string `json:"old_path" doc:"Path in the older files. Null: not renamed."`
	Status    string  `json:"status" enum:"added,modified,deleted,renamed,type_changed" doc:"What happened to the file; a renamed file may have other content, and type_changed is for example a file that became a link."`
	Additions *int    `json:"additions" doc:"Added lines. Null: binary, a submodule, or not counted."`
	Deletions *int    `json:"deletions" doc:"Deleted lines. Null: binary, a submodule, or not counted."`
	Binary    bool    `json:"binary" doc:"True: the content is no text, or longer than 32 MiB."`
	Submodule bool    `json:"submodule" doc:"True: at least one side is a submodule, and its object is a commit of another repository."`
	OldMode   string  `json:"old_mode" doc:"Mode in Git before: 100644 file, 100755 executable, 120000 link, 160000 submodule. Empty: the file did not exist."`
	NewMode   string  `json:"new_mode" doc:"Mode in Git after, as old_mode. Empty: the file does not exist any more."`
	OldObject string  `json:"old_object" doc:"Git ID of the content before; equal IDs mean equal content. Empty: the file did not exist."`
	NewObject string  `json:"new_object" doc:"Git ID of the content after. Empty: the file does not exist any more."`
	OldBytes  *int64  `json:"old_bytes" doc:"Size before. Null: the file did not exist, or is a submodule."`
	NewBytes  *int64  `json:"new_bytes" doc:"Size after. Null: the file does not exist any more, or is a submodule."`
}

// FileDiff is a page of the difference of one file.
type FileDiff struct {
	Compared

	File        FileChange `json:"file" doc:"The file, as in the list of changes."`
	Hunks       []Hunk     `json:"hunks" nullable:"false" doc:"Places that differ, with the lines around them. Empty: binary, a submodule, or only name or mode differ."`
	Offset      int        `json:"offset" doc:"Number of lines of the difference before this page."`
	NextOffset  *int       `json:"next_offset" doc:"offset of the next page. Null: this is the last one."`
	InvalidUTF8 bool       `json:"invalid_utf8" doc:"True: lines of this page have bytes that are not UTF-8, which are U+FFFD here."`
}

// Hunk is a place at which a file differs.
type Hunk struct {
	OldStart int       `json:"old_start" doc:"First line before, from 1; without such lines the line in front of the place."`
	OldLines int       `json:"old_lines" doc:"Number of lines before."`
	NewStart int       `json:"new_start" doc:"First line after, as old_start."`
	NewLines int       `json:"new_lines" doc:"Number of lines after."`
	Section  string    `json:"section" doc:"Line above the place that begins a section, for example of a function, as Git finds it. Empty: none."`
	Lines    []string  `json:"lines" nullable:"false" doc:"Lines as in a unified diff, which begin with a space, +, - or \\ (no newline at the end of the file)."`
	Cut      []CutLine `json:"cut" nullable:"false" doc:"Lines of which only the first 4 KiB are here."`
}

// CutLine names a long line.
type CutLine struct {
	Line  int `json:"line" doc:"Index in lines, from 0."`
	Bytes int `json:"bytes" doc:"Length of the whole line, with its first character."`
}

// File is a piece of the text of a file at one point.
type File struct {
	TaskID      string `json:"task_id" doc:"Task whose file it is."`
	At          Point  `json:"at" doc:"Point of the files."`
	Path        string `json:"path" doc:"The file, as requested, for example cmd/main.go."`
	Mode        string `json:"mode" doc:"Mode in Git: 100644 file, 100755 executable, 120000 link, 160000 submodule."`
	Object      string `json:"object" doc:"Git ID of the content; equal IDs mean equal content."`
	Binary      bool   `json:"binary" doc:"True: the content is no text, and text is empty."`
	Submodule   string `json:"submodule" doc:"Commit of the submodule. Empty: no submodule."`
	InvalidUTF8 bool   `json:"invalid_utf8" doc:"True: the piece has bytes that are not UTF-8, which are U+FFFD in text."`
	Text        string `json:"text" doc:"Content from offset_bytes; of a link its target."`
	OffsetBytes int    `json:"offset_bytes" doc:"Where text begins in the content."`
	TotalBytes  int    `json:"total_bytes" doc:"Size of the content."`
	NextOffset  *int   `json:"next_offset_bytes" doc:"Where the next piece begins. Null: text is the end."`
}
