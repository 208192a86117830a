/* A name in one line: control characters and backslashes as their codes. */
static void show(const char *name)
{
  for (; *name; ++name) {
    const unsigned code = (unsigned char)*name;
    if (code < 32 || code == 92 || code == 127) printf("\\x%02x", code);
    else putchar(*name);
  }
}

