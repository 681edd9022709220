package activities

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A submodule has no files, and the description says so. A file with similar content stays a file.
func TestDiffStat_Submodule(t *testing.T) {
	t.Parallel()
	commit := strings.Repeat("d8", 20)
	var d diffStat
	_, err := d.Write([]byte(`diff --git a/lib b/lib
index 0123456..d8d8d8d 160000
--- a/lib
+++ b/lib
@@ -1 +1 @@
-Subproject commit 0123456789012345678901234567890123456789
+Subproject commit ` + commit + `
diff --git a/new lib b/new lib
new file mode 160000
index 0000000..d8d8d8d
--- /dev/null
+++ b/new lib	
@@ -0,0 +1 @@
+Subproject commit ` + commit + `
diff --git a/text b/text
index 0123456..d8d8d8d 100644
--- a/text
+++ b/text
@@ -0,0 +1 @@
+Subproject commit ` + commit + `
diff --git a/gone b/gone
deleted file mode 160000
index d8d8d8d..0000000
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-Subproject commit ` + commit + `
`))
	require.NoError(t, err)
	const told = " links to a commit of another repository; its files are not in this branch"
	require.Equal(t, "- `lib`"+told+"\n- `new lib`"+told+"\n- `text` +1 −0\n- `gone` +0 −1", fileLines(d.all()))
	files, lines, known := d.size()
	require.Equal(t, []any{4, 2, true}, []any{files, lines, known}, "the files of a submodule are not in this branch")
}
