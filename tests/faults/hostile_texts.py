"""About 200 texts that somebody may give as a name, or a crash may leave as its reason. One list for all tests."""

CONTROL = [chr(code) for code in range(1, 32)] + ["\x7f"] + [chr(code) for code in range(0x80, 0xa0, 3)]
ESCAPES = [
    "\x1b[31mred\x1b[0m", "\x1b[2J\x1b[H", "\x1b]0;title\x07", "\x1b]8;;http://evil.example\x07link\x1b]8;;\x07", "\x1b[6n", "\x1bc",
    "\x1b]52;c;ZXZpbA==\x07", "\x1bP+q544e\x1b\\", "\x9b31mred", "\x1b[8mhidden", "\x1b[1A\x1b[2Kgone", "\x1b(0lqk", "a\rb", "over\b\b\b\bwritten",
    "\x1b[?1049h", "\x1b[20t", "\x1b_application\x1b\\", "\x1b[999C", "\x1b#8", "\x1b[3;4r",
]
DIRECTION = ["\u202egnp.exe", "\u202aa\u202c", "\u2066x\u2069", "\u2067x", "a\u200eb", "\u200f", "\u061c", "\u2028line", "\u2029paragraph",
             "\u202d123\u202c", "\ufff9a\ufffab\ufffb", "\U000e0041\U000e0042"]
WIDTH = ["\u0301\u0301\u0301combining", "表表表", "🙂🙂", "a\u200db", "\u200b", "\ufeff", "ﷺ", "Ｆｕｌｌ", "e\u0301" * 40, "👩\u200d👩\u200d👧"]
QUOTES = ["'", '"', "''", '"\'"', "`", "```", "´", "\\", "\\\\", "\\'", '\\"', "\\n", "'; DROP TABLE jobs; --", '"; DROP TABLE jobs; --',
          "' OR '1'='1", "%s%s%n", "{0}", "{}", "{{7*7}}", "${HOME}", "$(reboot)", "`reboot`", "; reboot", "| reboot", "&& reboot", "> /dev/null",
          "%00", "!!", "~", "*", "?", "[a-z]", "--help", "-o", "-", "--", "\\x41", "\\u0041", "#comment", "key: value", "- item", "&anchor",
          "*alias", "!!python/object:os.system", "<<: *x", "null", "true", "NaN", "1e999", "0x10"]
PATHS = ["../", "../../../../etc/passwd", "/etc/passwd", "..\\..\\windows", "a/b/c", ".", "..", "/", "//server/share", "C:\\", "file:///etc/passwd",
         "~root", "con", "/dev/zero", "a\x7fb", "unix:/tmp/x", "name/../../x", "%2e%2e%2f"]
FORMULAS = ["=1+1", "=cmd|' /C calc'!A0", '=HYPERLINK("http://evil.example","x")', "+1", "-1", "-1+1", "@SUM(1)", "\t=1", " =1+1", "  @x", "＝1+1", "＋1", "－1",
            "＠SUM(1)", "=1+1\n=2+2", '",=1+1', "a,=1", "a;=1", "\r=1", "'=1"]
MARKUP = ["<b>bold</b>", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</td><td>", "&lt;b&gt;", "&#x1b;", "<!--", "]]>", "<?xml?>",
          "a|b|c", "|---|---|", "\\|", "**bold**", "_it_", "[text](http://evil.example)", "![](http://evil.example/x.png)", "# head", "> quote", "1. one",
          "$x$", "~~gone~~", "\\input{/etc/passwd}", "\\write18{reboot}", "\\def\\x{y}", "a & b \\\\ c", "%comment", "#1", "^_^", "}{", "\\end{tabular}", "[2cm]", "*[2cm]",
          "$\\href{javascript:alert(1)}{x}$", "\\csname input\\endcsname", "^^5cinput", "\\catcode`\\%=0"]
LONG = ["x" * 250, "ä" * 125, "表" * 80, "a b " * 60, "\x1b[31m" * 50, "|" * 200, "\\" * 200, "=" * 200, "\n" * 100, " " * 200]

ALL = CONTROL + ESCAPES + DIRECTION + WIDTH + QUOTES + PATHS + FORMULAS + MARKUP + LONG
