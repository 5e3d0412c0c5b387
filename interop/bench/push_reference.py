"""push_reference.py CLONE FOLDER: publishes a clone of the reference to a folder, in a process of its own."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from roundtrip import reference

print(reference.push(sys.argv[1], sys.argv[2])['status'])
